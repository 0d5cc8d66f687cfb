"""Whatever is wrong with a file to import: one sentence with file and line, status 3, nothing touched."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.cli.processes import inside
from tests.harness.projects import make_project, task


def story(name: str, **more: JsonValue) -> dict[str, JsonValue]:
    return {
        "id": name,
        "title": f"Do {name}",
        "acceptanceCriteria": ["works"],
        "priority": 1,
        "passes": False,
        **more,
    }


def prd(*stories: JsonValue, **more: JsonValue) -> str:
    return json.dumps({"userStories": list(stories), **more}, indent=1)


GOOD = prd(story("a"))

TEXTS: dict[str, tuple[str | bytes, str]] = {
    "cut": (GOOD[: len(GOOD) // 2], "prd.json:"),
    "duplicate key": (GOOD.replace('"priority": 1', '"id": "b", "priority": 1'), "prd.json:"),
    "duplicate id": (prd(story("a"), story("a")), "prd.json:"),
    "NaN": (GOOD.replace('"priority": 1', '"priority": NaN'), "prd.json:"),
    "circle": (
        prd(story("a", dependsOn=["b"]), story("b", dependsOn=["a"])),
        "prd.json:",
    ),
    "unknown dependency": (prd(story("a", dependsOn=["zz"])), "prd.json:"),
    "nested": (f'{{"userStories": {"[" * 50_000}{"]" * 50_000}}}', "prd.json:1: "),
    "too many": (prd(*(story(f"t{number}") for number in range(5_001))), "prd.json:"),
    "no stories": (prd(), "prd.json"),
    "empty": ("", "prd.json: "),
    "Latin-1": (GOOD.replace("Do a", "Größe").encode("latin-1"), "prd.json:"),
    "UTF-16": (GOOD.encode("utf-16"), "prd.json:1: "),
    "NUL": (GOOD.encode() + b"\0", "prd.json:"),
    "another thing": ('{"name": "a package", "version": "1.0.0"}', "prd.json"),
}


MARKDOWN: dict[str, tuple[str | bytes, str]] = {
    "no boxes": ("# Tasks\n\nOnly words.\n", "TODO.md"),
    "half a box": ("- [ ] Do a\n- [ Do b\n- [x Do c\n", "TODO.md:2: "),
    "too many": ("".join(f"- [ ] Do {n}\n" for n in range(5_001)), "TODO.md:5001: "),
    "nested": ("".join(f"{'  ' * n}- [ ] Do {n}\n" for n in range(330)), "TODO.md:1: "),
    "Latin-1": ("- [ ] Do a\n- [ ] Größe\n".encode("latin-1"), "TODO.md:2: "),
    "NUL": (b"- [ ] Do a\n\0", "TODO.md:2: "),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path, [task("mine")])


def refused(project: Path, name: str) -> str:
    """Import it; return the sentence, after a look at what must not have changed."""
    plan = project / ".ralph" / "implementation_plan.json"
    before = plan.read_bytes()
    done = inside("import", name, "--yes", cwd=project)
    assert (done.returncode, done.stdout) == (3, "")
    assert plan.read_bytes() == before
    sentence, *advice = done.stderr.splitlines()
    assert len(advice) <= 1, "one sentence, then what to do"
    assert len(sentence) < 400
    assert sentence.endswith(".")
    return sentence.removeprefix("ralph: ")


@pytest.mark.parametrize("name", list(TEXTS))
def test_a_text_that_is_no_plan(project: Path, name: str) -> None:
    text, said = TEXTS[name]
    data = text.encode() if isinstance(text, str) else text
    (project / "prd.json").write_bytes(data)
    sentence = refused(project, "prd.json")
    assert sentence.startswith(said)
    if said == "prd.json:":
        place = sentence.split(": ")[0].removeprefix("prd.json:")
        assert place.isdecimal(), f"no line in {sentence!r}"
    assert (project / "prd.json").read_bytes() == data


@pytest.mark.parametrize("name", list(MARKDOWN))
def test_a_list_that_is_no_plan(project: Path, name: str) -> None:
    text, said = MARKDOWN[name]
    data = text.encode() if isinstance(text, str) else text
    (project / "TODO.md").write_bytes(data)
    assert refused(project, "TODO.md").startswith(said)
    assert (project / "TODO.md").read_bytes() == data


def link_out(project: Path) -> str:
    (project.parent / "out.json").write_text(GOOD)
    (project / "link.json").symlink_to(project.parent / "out.json")
    return "link.json"


def fifo(project: Path) -> str:
    os.mkfifo(project / "pipe")
    return "pipe"


def directory(project: Path) -> str:
    (project / "src").mkdir()
    for name in ("notes.md", "more.md"):
        (project / "src" / name).write_text("words without a box")
    return "src"


PLACES: dict[str, tuple[Callable[[Path], str], str]] = {
    "named pipe": (fifo, "pipe: it is a named pipe"),
    "device": (lambda _: "/dev/zero", "/dev/zero: it is a device"),
    "directory": (directory, "src: no file in this directory has a known format"),
    "link out": (link_out, "link.json: it is a link to a place outside the project"),
    "nothing": (lambda _: "gone.json", "gone.json: the file does not exist"),
}


@pytest.mark.parametrize("name", list(PLACES))
def test_a_place_that_holds_no_plan(project: Path, name: str) -> None:
    make, said = PLACES[name]
    assert refused(project, make(project)).startswith(said)

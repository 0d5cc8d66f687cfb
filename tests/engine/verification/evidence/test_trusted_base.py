"""The trusted base: whose changes enter it, and what a claim is compared with."""

from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import Task
from ralph_tui.engine.verification.evidence.altered import Altered
from ralph_tui.engine.verification.evidence.check_inputs import CheckInputs
from ralph_tui.engine.verification.evidence.classify import controlling_part
from ralph_tui.engine.verification.evidence.trusted_base import TrustedBase
from ralph_tui.engine.verification.judge_tree import JudgeTree
from tests.engine.verification.evidence.projects import PROJECT, Changes, write
from tests.harness.effort import effort
from tests.harness.tables import Case, Line, each_case

COMMANDS = ("uv run pytest", "sh scripts/check.sh", "make test")
FILES = {
    **PROJECT,
    "scripts/check.sh": ". ./scripts/common.sh\nsh run.sh | diff - scripts/expected.txt\n",
    "scripts/common.sh": "",
    "scripts/expected.txt": "3\n",
    "run.sh": "echo 3\n",
    "Makefile": "test:\n\ttrue\n",
    "web/app.test.ts": "",
    "web/app.ts": "",
    "web/vitest.config.ts": "",
    ".cargo/config.toml": "",
    "tests/data/golden.json": "{}",
    "src/pkg/conftest.py": "",
    "README.md": "",
    "node_modules/x/package.json": "{}",
}
WEAK = {"tests/test_total.py": "weak"}


def test_what_the_person_accepted_by_hand_is_trusted_and_what_came_later_is_not(
    tmp_path: Path,
) -> None:
    base = project(tmp_path)
    base.begin("a", COMMANDS)
    write(tmp_path, {"Makefile": "test:\n\ttrue # a\n", "run.sh": "a"})
    base.end()
    base.begin("b", COMMANDS)
    write(tmp_path, {"scripts/check.sh": "b", "run.sh": "b"})
    base.end()
    assert names(base) == ["Makefile (changed)", "scripts/check.sh (changed)"]
    later = another_run(tmp_path)
    later.begin("c", COMMANDS, agreed=["a", "never begun"])
    assert names(later) == ["scripts/check.sh (changed)"]
    assert later.original("Makefile") == b"test:\n\ttrue # a\n"


def test_a_source_beside_test_data_is_product_if_the_product_imports_it(tmp_path: Path) -> None:
    code, import_ = "def draw(): ...\n", "from app.{} import draw\n"
    files = {f"app/fixtures/{name}.py": code for name in ("draw", "tested", "data")}
    files |= {"app/main.py": import_.format("fixtures.draw"), "app/fixtures/data.py": "DATA = 1\n"}
    base = project(tmp_path, {**files, "tests/test_a.py": import_.format("fixtures.tested")})
    base.begin("a", COMMANDS)
    write(
        tmp_path,
        dict.fromkeys(files, "def draw(): return 1\n") | {"app/fixtures/data.py": "DATA = 2\n"},
    )
    assert names(base) == ["app/fixtures/data.py (changed)", "app/fixtures/tested.py (changed)"]


def test_what_the_product_asks_of_its_tests_gets_another_name_or_value(tmp_path: Path) -> None:
    tests = {
        "tests/test_a.py": "SET = 'APP_PORT'\n",
        "tests/data/a.json": '{"in": [3], "out": "x"}\n',
    }
    base = project(tmp_path, {"app.py": "a = getenv('OLD_ONE')\n", **tests})
    base.begin("a", COMMANDS)
    text = "a = getenv('OLD_ONE')\nb = 'IN_TEST' in os.environ\nc = ENV['APP_PORT'], env.PATH, env['OF_REQUEST']\nd = open('a.json')\n"
    write(tmp_path, {"app.py": text})
    altered = Altered(base, base.inspect(COMMANDS))
    found = altered.with_other_variables(["PATH"])
    new = text.replace("IN_TEST", "IN_TEST_BY_OTHER_NAME").replace("PORT", "PORT_BY_OTHER_NAME")
    told = {path: base.read(content).decode() for path, content in found.items()}
    assert told == {"app.py": new, "tests/test_a.py": "SET = 'APP_PORT_BY_OTHER_NAME'\n"}
    (data,) = altered.with_other_values(data=True).values()
    assert base.read(data) == b'{"in": [10], "out": "xxxxxxxxxx"}\n'


def project(root: Path, files: Changes = FILES) -> TrustedBase:
    write(root, files)
    return another_run(root)


def another_run(root: Path) -> TrustedBase:
    return TrustedBase(root, JudgeTree(root).store)


def names(base: TrustedBase) -> list[str]:
    return sorted(change.text for change in base.inspect(COMMANDS).not_allowed)


def test_what_belongs_to_checks(tmp_path: Path) -> None:
    base = project(tmp_path)
    base.begin("a", COMMANDS)
    work = {"total.py", "run.sh", "web/app.ts", "README.md", "node_modules/x/package.json"}
    assert base.inspect(COMMANDS).originals() == {*FILES} - work


def runs(line: Line, root: Path) -> str:
    command, _, words = line.rest.partition(" # ")
    return "the check" if CheckInputs(root, [command], words).named else "the work"


def becomes(line: Line, root: Path) -> str:
    original = (root / line.name).read_bytes()
    parts = {controlling_part(line.name, text, original) for text in (line.data, original)}
    return "steers" if len(parts) > 1 else "free"


@each_case(__file__)
def test_inputs(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    case.play({"runs": runs, "becomes": becomes}, tmp_path, pytestconfig)


def test_what_the_agent_does_is_a_change_and_what_the_person_does_is_trusted(
    tmp_path: Path,
) -> None:
    base = project(tmp_path)
    base.begin("a", COMMANDS)
    write(tmp_path, {**WEAK, "scripts/check.sh": None, "conftest.py": "x = 1"})
    write(
        tmp_path, {"total.py": "x", "tests/test_more.py": "def test_x(): ...", "README.md": "new"}
    )
    assert names(base) == [
        "conftest.py (new)",
        "scripts/check.sh (deleted)",
        "tests/test_total.py (changed)",
    ]
    assert "tests/test_more.py" in {one.path for one in base.inspect(COMMANDS).checks}
    base.end()
    write(tmp_path, {"Makefile": "test:\n\tfalse\n", "scripts/check.sh": FILES["scripts/check.sh"]})
    later = another_run(tmp_path)
    later.begin("a", COMMANDS)
    assert names(later) == ["conftest.py (new)", "tests/test_total.py (changed)"]
    assert later.original("tests/test_total.py") == PROJECT["tests/test_total.py"].encode()
    assert later.original("Makefile") == b"test:\n\tfalse\n"


@pytest.mark.parametrize("ended", [True, False])
def test_what_changes_in_a_session_is_the_agents_whether_it_ended_or_was_killed(
    tmp_path: Path, ended: bool
) -> None:
    base = project(tmp_path)
    base.begin("", COMMANDS)
    write(tmp_path, WEAK)
    if ended:
        base.end()
    again = another_run(tmp_path)
    again.begin("a", COMMANDS)
    assert names(again) == ["tests/test_total.py (changed)"]


def test_without_a_place_for_the_base_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    base = project(tmp_path)
    base.begin("a", COMMANDS)
    assert base.trouble
    assert base.inspect(COMMANDS).trouble == base.trouble


def test_nothing_is_laundered_from_task_to_task(tmp_path: Path) -> None:
    base = project(tmp_path)
    base.begin("a", COMMANDS)
    write(tmp_path, {**WEAK, "total.py": "done"})
    judged = base.inspect(COMMANDS, Task(id="a"))
    write(tmp_path, {"tests/test_late.py": "def test_late(): ..."})  # after the checks ran
    base.accept("a", judged)
    base.end()
    base.begin("b", COMMANDS)
    write(tmp_path, {"tests/test_b.py": "def test_b(): ..."})
    found = base.inspect(COMMANDS, Task(id="b"))
    assert [change.text for change in found.not_allowed] == ["tests/test_total.py (changed)"]
    assert not any(change.path == "total.py" for change in found.changes), "the product landed"
    base.accept("b", found)
    base.end()
    base.begin("c", COMMANDS)
    write(tmp_path, {"tests/test_b.py": "weak", "tests/test_late.py": "weak"})
    found = base.inspect(COMMANDS, Task(id="c"))
    changed = {one.text for one in found.checks}  # the new test of b binds c
    assert changed >= {"tests/test_b.py (changed)", "tests/test_late.py (new)"}


def test_what_somebody_agreed_to_is_trusted(tmp_path: Path) -> None:
    base = project(tmp_path)
    base.begin("a", COMMANDS)
    write(tmp_path, WEAK)
    base.accept("a", base.inspect(COMMANDS, Task(id="a")), ["tests/test_total.py"])
    base.end()
    base.begin("b", COMMANDS)
    assert names(base) == []
    assert base.original("tests/test_total.py") == b"weak"


def test_only_the_part_that_steers_checks_counts(tmp_path: Path) -> None:
    base = project(tmp_path)
    base.begin("a", COMMANDS)
    text = FILES["pyproject.toml"]
    changed = {"pyproject.toml": text.replace('"1"', '"2"'), "package.json": '{"dependencies": {}}'}
    write(tmp_path, changed)
    assert names(base) == []
    write(tmp_path, {"pyproject.toml": text.replace('["."]', '["fake"]').replace('"1"', '"2"')})
    found = base.inspect(COMMANDS)
    assert [change.text for change in found.checks] == ["pyproject.toml (changed)"]
    held = found.judged["pyproject.toml"]
    assert held is not None
    assert base.read(held).decode() == text


def test_a_look_at_thousands_of_files_is_quick(tmp_path: Path) -> None:
    for number in range(40):
        directory = tmp_path / ("tests" if number < 4 else "src") / f"d{number}"
        directory.mkdir(parents=True)
        for name in range(100):
            (directory / f"f{name}.py").touch()
    (recipe := tmp_path / "Makefile").write_text("all: a.c\n")
    base = another_run(tmp_path)
    base.begin("a", ["uv run pytest"])
    assert not base.inspect(["uv run pytest"]).changes
    recipe.write_text("a" * 40_000)
    (tmp_path / "b.c").touch()
    assert effort(lambda: base.inspect(["uv run pytest"])) < 3


def test_a_changed_package_counts_until_the_person_accepts_a_task_with_it(tmp_path: Path) -> None:
    module = "node_modules/x/package.json"
    base = project(tmp_path, {**FILES, ".gitignore": "node_modules/\n"})
    base.begin("a", COMMANDS)
    write(tmp_path, {module: "patched"})
    faults = ("node_modules/x is not as it was installed",)
    assert base.inspect(COMMANDS, Task(id="a")).faults == faults
    base.end()
    base.begin("b", COMMANDS)
    assert base.inspect(COMMANDS, Task(id="b")).faults == faults, (
        "the next task does not launder it"
    )
    base.end()
    base.begin("c", COMMANDS, "", ["b"])
    assert base.inspect(COMMANDS, Task(id="c")).faults == ()

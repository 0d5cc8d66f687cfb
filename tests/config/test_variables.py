"""`${NAME}` and `${NAME:-default}` in every value of a settings file; secrets stay out of them."""

import contextlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.config.load import effective_entries, load_settings
from ralph_tui.config.settings import Settings
from ralph_tui.domain.variable_references import (
    Reference,
    ReferenceSyntaxError,
    filled,
    pieces,
    references,
)

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True)
DEFAULTS = st.none() | st.text(alphabet=st.characters(exclude_characters="}$"))
PLAIN = st.text(alphabet=st.characters(exclude_characters="$"), min_size=1)
PIECES = st.lists(PLAIN | st.just("${") | st.builds(Reference, NAMES, DEFAULTS))


def written(piece: str | Reference) -> str:
    if isinstance(piece, str):
        return piece.replace("${", "$${")
    default = "" if piece.default is None else f":-{piece.default}"
    return f"${{{piece.name}{default}}}"


@given(PIECES, st.dictionaries(NAMES, st.text(min_size=1)))
def test_what_is_written_is_read_back(
    parts: list[str | Reference], values: Mapping[str, str]
) -> None:
    text = "".join(map(written, parts))
    assert list(references(text)) == [part for part in parts if isinstance(part, Reference)]
    wanted = "".join(p if isinstance(p, str) else values.get(p.name, "?") for p in parts)
    assert filled(text, lambda found: values.get(found.name, "?")) == wanted


@given(st.text(alphabet="${}:-aB1 "))
def test_any_text_is_read_or_refused(text: str) -> None:
    found: tuple[str | Reference, ...] | None = None
    with contextlib.suppress(ReferenceSyntaxError):
        found = pieces(text)
    assert found is None or "".join(map(written, found)) == text
    assert found is not None or "${" in text


SETTINGS = """\
models:
  primary: ${MODEL:-opus}
phases:
  building:
    max_iterations: ${MOST}
    backpressure:
      - make -C ${DIR} test
      - for f in *; do echo $${f%.txt} $HOME; done
"""


def load(root: Path, text: str, **environ: str) -> Settings:
    (root / ".ralph").mkdir(exist_ok=True)
    (root / ".ralph/config.yaml").write_text(text, encoding="utf-8")
    return load_settings(root, environ=environ, home=root / "nobody")


def test_a_reference_works_in_every_kind_of_value(tmp_path: Path) -> None:
    settings = load(tmp_path, SETTINGS, MOST="7", DIR="sub dir", MODEL="")
    assert settings.models.primary == "opus", "an empty variable takes the default"
    assert settings.phases.building.max_iterations == 7
    assert settings.phases.building.backpressure == (
        "make -C sub dir test",
        "for f in *; do echo ${f%.txt} $HOME; done",
    )
    assert load(tmp_path, SETTINGS, MOST="7", DIR="", MODEL="haiku").models.primary == "haiku"


def test_a_value_that_something_stronger_hides_needs_no_variable(tmp_path: Path) -> None:
    text = "models:\n  primary: ${GONE}\n"
    assert load(tmp_path, text, RALPH_PRIMARY_MODEL="haiku").models.primary == "haiku"
    overrides = {"models.primary": "${GONE}"}
    settings = load_settings(tmp_path, overrides=overrides, environ={}, home=tmp_path / "nobody")
    assert settings.models.primary == "${GONE}", "an option is not a settings file"


def test_what_is_written_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOST", "7")
    monkeypatch.setenv("DIR", "src")
    load(tmp_path, SETTINGS, MOST="7", DIR="src")
    entries = effective_entries(tmp_path).items()
    found = {key: entry.written for key, entry in entries if entry.written is not None}
    assert found["models.primary"] == "${MODEL:-opus}"
    assert found["phases.building.max_iterations"] == "${MOST}"
    assert set(found) == {
        "models.primary",
        "phases.building.max_iterations",
        "phases.building.backpressure",
    }

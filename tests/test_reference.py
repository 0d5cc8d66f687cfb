"""The reference pages say what the code says."""

import re

import pytest

from ralph_tui.cli.app import command_tree
from ralph_tui.domain.events import KINDS
from tests.tools.reference import DOCS, PAGES


def said(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_is_fresh(name: str) -> None:
    stale = "Run `uv run python -m tests.tools.reference`."
    assert said(name) == PAGES[name](), stale


def test_every_command_has_its_section() -> None:
    root = command_tree()
    headings = re.findall(r"^### ralph (\S+)$", said("commands.md"), re.MULTILINE)
    shown = [name for name, command in root.commands.items() if not command.hidden]
    assert sorted(headings) == sorted(shown)


def test_every_event_has_its_section() -> None:
    headings = set(re.findall(r"^## (\w+)$", said("events.md"), re.MULTILINE))
    assert headings == {kind.model_fields["type"].default for kind in KINDS}

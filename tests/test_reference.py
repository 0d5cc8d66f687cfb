"""The reference pages say what the code says."""

import re

import pytest
import typer
from typer.core import TyperGroup

from ralph_tui.cli.app import SHORT_FORMS, app
from ralph_tui.cli.json_schemas import json_schema
from tests.tools.reference import DOCS, PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_is_fresh(name: str) -> None:
    stale = "Run `uv run python -m tests.tools.reference`."
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), stale


def test_every_command_has_its_section() -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    headings = re.findall(r"^### ralph (\S+)$", PAGES["commands.md"](), re.MULTILINE)
    shown = [name for name, command in root.commands.items() if not command.hidden]
    assert sorted(headings) == sorted(set(shown) - set(SHORT_FORMS))


def test_every_event_has_its_section() -> None:
    headings = set(re.findall(r"^## (\w+)$", PAGES["events.md"](), re.MULTILINE))
    assert headings == set(json_schema("events")["discriminator"]["mapping"])

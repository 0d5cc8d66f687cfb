"""The person's own editor: the screen steps aside for it, and comes back whatever becomes of it."""

import uuid
from pathlib import Path

import pytest

from tests.harness.projects import make_project, task
from tests.harness.real_processes import ralph_environment
from tests.pty.terminal import terminal

pytestmark = pytest.mark.serial


def test_the_screen_is_back_after_an_editor_that_is_not_there(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], files={"AGENTS.md": "# Notes\n"})
    environment = ralph_environment(None, tmp_path, uuid.uuid4().hex)
    environment |= {"VISUAL": "", "EDITOR": "no-such-editor"}
    with terminal([], cwd=project, notes=tmp_path, environment=environment) as shown:
        shown.until_shown("Do a")
        shown.press("6")
        shown.until_shown("memory and specs")
        shown.until_shown("▸ message")
        shown.press("jjjjj")
        shown.until_shown("▸ AGENTS.md")
        shown.press("e")
        shown.until_shown("The editor 'no-such-editor' cannot be started")
        shown.press("\x1b")
        shown.until(lambda: "memory and specs" not in shown.text, "the dashboard")
        shown.press("q")
        assert shown.exit_status() == 0


@pytest.mark.long
def test_keys_typed_at_once_edit_the_file_under_the_cursor(tmp_path: Path) -> None:
    files = {"AGENTS.md": "# Notes\n", "CLAUDE.md": "# Others\n"}
    project = make_project(tmp_path, [task("a")], files=files)
    editor = tmp_path / "editor with spaces"
    editor.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$NOTED"\n', encoding="utf-8")
    editor.chmod(0o700)
    noted = tmp_path / "noted"
    environment = ralph_environment(None, tmp_path, uuid.uuid4().hex)
    environment |= {"VISUAL": f"'{editor}' --wait", "NOTED": str(noted)}
    with terminal([], cwd=project, notes=tmp_path, environment=environment) as shown:
        shown.until_shown("Do a")
        shown.press("6")
        shown.until_shown("memory and specs")
        shown.until_shown("▸ message")
        shown.press("jjjjj")
        shown.until_shown("▸ AGENTS.md")
        shown.press("je")
        shown.until(noted.exists, "the editor")
        shown.press("\x1b")
        shown.until(lambda: "memory and specs" not in shown.text, "the dashboard")
        shown.press("q")
        assert shown.exit_status() == 0
        assert noted.read_text().splitlines() == ["--wait", str(project / "CLAUDE.md")]

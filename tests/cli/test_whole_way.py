"""The whole way without a screen and without a terminal, through the real program."""

from pathlib import Path

import pytest

from ralph_tui.store.project import Project
from tests.harness.model import serving
from tests.harness.projects import make_project
from tests.harness.real_processes import run_ralph
from tests.harness.scenarios import REQUEST, discovers, scenario


@pytest.mark.long
async def test_a_request_and_its_answers_from_files(tmp_path: Path) -> None:
    project = make_project(tmp_path, [])
    (tmp_path / "answers.yaml").write_text("Language: french\n", encoding="utf-8")
    (tmp_path / "request.md").write_text(REQUEST, encoding="utf-8")
    async with serving(scenario(discovers(asks=True))) as server:
        words = ["discover", "@../request.md", "--headless", "--answers", "../answers.yaml"]
        done = await run_ralph([*words, "--yes"], project, server)
    assert done.status == 0, done.stderr
    assert "Language: French (from the answers file)" in done.stdout
    assert "approved the specs · by --yes" in done.stdout
    assert Project(project).load().state.request == REQUEST

"""A project with one plan never meets features: neither on disk nor in anything that ralph says or sends."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.store.layout import Layout
from tests.cli.processes import beside
from tests.harness.model import serving
from tests.harness.projects import make_project, task
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import play

FILES = """\
.ralph/.gitignore
.ralph/MEMORY.md
.ralph/circuit_breaker.json
.ralph/config.yaml
.ralph/context_budget.json
.ralph/events.jsonl
.ralph/implementation_plan.json
.ralph/memory/iterations/iter-001.md
.ralph/memory/phases/building.md
.ralph/session_history/sessions.jsonl
.ralph/state.json
a.txt
progress.txt
pyproject.toml
"""
"""What a run leaves, without copies, locks and logs."""

ASIDE = (".bak", "lock", ".log", ".tmp", "last-prompt.md")

LOOKS = ("status", "tasks", "history", "memory --show", "report", "limits")


@pytest.mark.usefixtures("played_cli")
async def test_a_run_leaves_and_says_nothing_of_features(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], ["true"])
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server, overrides={"archive.on_completion": False})
        sent = "\n".join(str(request) for request in server.requests)
    assert run.end.status is LoopStatus.COMPLETE, run.end.reason

    layout = Layout(project)
    assert layout.home == layout.dot
    left = (p.relative_to(project).as_posix() for p in project.rglob("*") if p.is_file())
    assert sorted(name for name in left if not name.endswith(ASIDE)) == FILES.split()
    assert json.loads(layout.state.read_bytes()).get("schema_version", 1) == 1
    journal = layout.events.read_text(encoding="utf-8")
    assert '"feature' not in journal
    assert not any(e.feature or e.features for e in run.of(ev.LoopStarted))
    assert ".ralph/features" not in sent

    for words in LOOKS:
        done = await beside(*words.split(), cwd=project)
        assert done.returncode == 0, done.stderr
        assert "feature" not in done.stdout + done.stderr, words
    for words in ("status", "history", "report"):
        done = await beside(words, "--json", cwd=project)
        assert done.returncode == 0, done.stderr
        assert '"feature": "' not in done.stdout.replace('"feature": ""', ""), words

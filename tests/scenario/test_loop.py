"""The loop on the real CLI: how tasks end, and what the next session gets to know."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome, LoopStatus, ToolOutcome
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.store.project import Project
from tests.harness.model import serving
from tests.harness.projects import HAS_FILE, events_of, git, make_project, task, task_of
from tests.harness.scenarios import (
    claims_too_early,
    claims_when_reminded,
    finishes,
    hands_over,
    scenario,
)
from tests.scenario.running import Run, play


async def test_a_plan_is_finished_by_claims_that_are_refused_or_forgotten_at_first(
    tmp_path: Path,
) -> None:
    tasks = [task("b", dependencies=["a"], priority=1), task("a", priority=2)]
    hook = {"type": "command", "command": "touch pwned"}
    hooks = {"SessionStart": [{"hooks": [hook]}], "PreToolUse": [{"hooks": [hook]}]}
    files = {
        "CLAUDE.md": "Prefer tabs over spaces.",
        ".claude/settings.json": json.dumps({"hooks": hooks}),
    }
    project = make_project(tmp_path, tasks, [HAS_FILE.format(name="a.txt")], files=files)
    git(tmp_path, "init", "-q", str(project / "lib/inner"))
    async with serving(scenario(claims_too_early("a"), claims_when_reminded("b"))) as server:
        run = await play(project, server)
        assert server.unmatched == []
        turns = [r.turn for r in server.requests if r.script == "claims a too early"]
        first, second = (r.body for r in server.requests if r.turn == 0)
    assert turns == [0, 1, 2], "an accepted claim ends the session without another request"
    assert (run.end.status, run.end.exit_code) == (LoopStatus.COMPLETE, 0)
    assert run.end.reason == "all 2 tasks are complete"
    assert [e.task_id for e in run.of(ev.IterationStarted)] == ["a", "b"]
    assert "only task that is ready" in run.of(ev.IterationStarted)[0].why
    gates = run.of(ev.GateFinished)
    assert [g.passed for g in gates] == [False, True, True]
    assert gates[0].receipts[0].exit_code == 1
    assert "FileNotFoundError" in gates[0].receipts[0].tail
    for name in ("a", "b"):
        done = task_of(project, name)
        assert done.status is TaskStatus.COMPLETE
        assert done.completion_notes
        assert done.completed_at is not None
        assert (done.actual_tokens_used or 0) > 0
    assert run.end.cost_usd > 0
    refused, *others = [e.outcome for e in run.of(ev.ToolFinished)]
    assert (refused, {*others}) == (ToolOutcome.ERROR, {ToolOutcome.OK})
    told = [notice.text for notice in run.of(ev.Notice) if "Left out" in notice.text]
    assert told == [
        "Left out of undo and review: lib/inner (too large, not readable, or a repository of its own)."
    ]
    live = ""
    for event in run.events:
        if isinstance(event, ev.TextDelta):
            live += event.text
        elif isinstance(event, ev.AssistantText):
            assert event.text.startswith(live)
            live = ""
    assert live == ""
    assert not (project / "pwned").exists(), "the project's own hooks do not run"
    assert (first["tools"], first["system"]) == (second["tools"], second["system"]), "cached"
    assert "Prefer tabs over spaces." in json.dumps(first["system"])
    is_told_whole(run)


def is_told_whole(run: Run) -> None:
    """The journal, the archive and the memory have all that was told."""
    journal = events_of(run.project)
    assert [e.seq for e in journal] == list(range(1, len(journal) + 1))
    assert all(e.time is not None for e in journal)
    assert isinstance(journal[0], ev.LoopStarted)
    assert isinstance(journal[-1], ev.LoopFinished)
    assert [e for e in run.events if not e.transient] == journal
    assert run.of(ev.TextDelta), "live text is told but not kept"
    sessions = Project(run.project).read_sessions()
    assert [(s.handoff_reason, s.tasks_completed) for s in sessions] == [("task_complete", 1)] * 2
    memory = (run.project / ".ralph/memory/iterations/iter-001.md").read_text()
    assert "Outcome: complete" in memory


WRITES_DOWN = """
- name: writes down and claims
  task: b
  turns:
    - ralph: {update_memory: {decisions: [Dates are ISO], notes: [first]}}
    - ralph: {update_memory: {notes: [second]}}
    - ralph: {append_learning: {learning: Parser tests need the compiled grammar, category: build}}
    - ralph: {append_learning: {learning: The compiled grammar is what parser tests need, category: build}}
    - when: {last_result: "add it to AGENTS.md under"}
      say: It recurs.
      ralph: {get_plan_summary: {}}
    - write: {path: b.txt, content: x}
    - ralph: {mark_task_complete: {task_id: b, verification_notes: Done.}}
    - when: {last_result: "ACCEPTED:"}
      say: Done.
"""


@pytest.mark.usefixtures("played_cli")
async def test_a_full_context_is_handed_off_and_its_notes_hold_until_the_task_is_complete(
    tmp_path: Path,
) -> None:
    tasks = [task("a"), task("b", dependencies=["a"]), task("c", dependencies=["b"])]
    project = make_project(tmp_path, tasks)
    progress = "The parser is written; the printer is not."
    hands = hands_over("a", progress).replace("decisions: []", "decisions: [A grammar by hand]")
    hands = hands.replace("files: []", "dependencies: [npm install left-pad]")
    async with serving(scenario(hands, WRITES_DOWN, finishes("c"))) as server:
        run = await play(project, server)
        prompts = [json.dumps(r.body["messages"]) for r in server.requests if r.turn == 0]
        assert server.unmatched == []
    assert run.of(ev.HandoffStarted)[0].percent >= 60
    assert run.of(ev.HandoffFinished)[0].summarised
    outcomes = [e.outcome for e in run.of(ev.IterationFinished)]
    assert outcomes == [IterationOutcome.HANDED_OFF, *[IterationOutcome.COMPLETE] * 3]
    reasons = [session.handoff_reason for session in Project(project).read_sessions()]
    assert reasons == ["context_budget", *["task_complete"] * 3]
    assert task_of(project, "a").retry_count == 0
    memory = (project / "MEMORY.md").read_text()
    assert memory.startswith("# Session Memory - Iteration 1")
    assert f"Progress: {progress}" in memory
    assert "- [x] the first half" in memory
    assert "## Dependencies Added\n- npm install left-pad\n" in memory
    assert any("ralph memory --recurring" in notice.text for notice in run.of(ev.Notice))
    assert any(call.name.endswith("get_plan_summary") for call in run.of(ev.ToolFinished))
    of_a, of_b, of_c = (next(p for p in prompts if f"Iteration {n}\\n" in p) for n in (2, 3, 4))
    assert progress in of_a, "the next session reads it"
    assert "npm install left-pad" in of_a
    assert "Current Task In Progress" in of_a
    assert "Current Task In Progress" not in of_b, "a is complete"
    assert "A grammar by hand" in of_b
    assert "Dates are ISO" in of_c
    written = (project / ".ralph/memory/iterations/iter-003.md").read_text()
    assert "## Architectural Decisions\n- Dates are ISO\n" in written
    assert "## Notes for Next Session\n- first\n- second\n" in written
    assert "- Phase: building\n" in written
    assert run.end.exit_code == 0
    docs = Project(project).load()
    used = docs.budget.iterations
    assert [(use.iteration, use.task_id) for use in used] == [
        (1, "a"),
        (2, "a"),
        (3, "b"),
        (4, "c"),
    ]
    assert used[0].percent >= 60 > used[1].percent > 0
    assert all(use.tokens_used >= use.context_tokens for use in used)
    assert docs.plan.created_at is not None
    assert docs.plan.created_at < (docs.plan.last_modified or docs.plan.created_at)

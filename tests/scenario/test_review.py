"""Criteria in prose, on the real CLI: a second session judges them from the files, and Python checks its quotes."""

import json
import re
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.verification.verification import VerificationOutcome
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.store.backup.mirror import mirror_of
from tests.cli.processes import beside
from tests.harness.model import serving, serving_in_process
from tests.harness.projects import make_project, task, task_of
from tests.harness.real_processes import (
    marked_processes,
    ralph_running,
    run_ralph,
)
from tests.harness.scenarios import scenario
from tests.harness.waiting import until
from tests.scenario.running import Run, play

GREETS = {"path": "greet.py", "content": "def greet(name):\\n    return f'Hello, {name}!'\\n"}
SECRET_WORDS = "I swear on my honor that it greets"
PROSE = task("a", verification_criteria=["greet returns a greeting with the name"])
CONFIG: dict[str, object] = {"phases": {"building": {"review": "prose"}}}

WORKS = f"""
    - name: works on a
      task: a
      turns:
        - say: {SECRET_WORDS}
          write: {{path: greet.py, content: "{GREETS["content"]}"}}
        - write: {{path: MEMORY.md, content: "{SECRET_WORDS}"}}
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: "{SECRET_WORDS}"}}}}
        - when: {{last_result: "ACCEPTED: a reviewer found"}}
          say: Done.
        - when: {{last_result: "NOT YET: the checks passed, but a reviewer"}}
          write: {{path: greet.py, content: "{GREETS["content"]}# once more\\n"}}
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: "{SECRET_WORDS}"}}}}
        - say: That is all.
"""


def verdict(met: bool, quote: str = "", line: int = 2) -> str:
    evidence = [{"file": "greet.py", "line": line, "text": quote}] if quote else []
    one = {"number": 1, "met": met, "reason": "Read greet.py.", "evidence": evidence}
    return json.dumps({"submit_review": {"criteria": [one], "summary": "Read."}})


QUOTE = "return f'Hello, {name}!'"


def reviews(*calls: str, name: str = "reviews") -> str:
    turns = "".join(f"        - ralph: {call}\n" for call in calls)
    return f"""
    - name: {name}
      when: Ralph Review of a
      turns:
{turns}        - say: I have said what I have to say.
"""


async def reviewed(
    root: Path, *scripts: str, iterations: int = 1, config: dict[str, object] = CONFIG
) -> tuple[Run, list[str]]:
    project = make_project(root, [PROSE], ("detected",), config)
    async with serving(scenario(*scripts)) as server:
        run = await play(project, server, overrides={"phases.building.max_iterations": iterations})
        asked = [r.body for r in server.requests if "Ralph Review of a" in str(r.body["messages"])]
    return run, [str(body) for body in asked]


@pytest.mark.usefixtures("played_cli")
async def test_a_reviewer_judges_prose_from_the_files_alone(tmp_path: Path) -> None:
    looks = f"""
    - name: looks around
      when: Ralph Review of a
      turns:
        - read: greet.py
        - tools: [{{name: Read, input: {{file_path: /etc/hostname}}}}]
        - tools: [{{name: Grep, input: {{pattern: honor}}}}]
        - ralph: {verdict(True, "return 'Hello'")}
        - when: {{last_result: does not contain the quoted lines}}
          ralph: {verdict(True, QUOTE)}
        - say: It does.
    """
    run, asked = await reviewed(tmp_path, looks, WORKS)
    assert run.end.exit_code == 0, run.end.reason
    done = task_of(run.project, "a")
    assert done.status is TaskStatus.COMPLETE
    assert done.verification is not None
    assert done.verification.outcome is VerificationOutcome.REVIEWED
    (finished,) = run.of(ev.ReviewFinished)
    assert finished.review.agreed
    view = LoopView()
    shown: list[bool | None] = []
    for event in run.events:
        view = reduce(view, event)
        if isinstance(event, ev.GateFinished | ev.ReviewFinished):
            shown.append(view.gate_passed)
    assert shown == [None, True], "a claim is not accepted before it is reviewed"
    assert finished.review.verdicts[0].evidence[0].file == "greet.py"
    assert finished.review.cost_usd > 0
    heard = "".join(asked)
    assert SECRET_WORDS not in heard, "the reviewer never sees the worker's words"
    assert "+    return f" in heard, "it is given the diff"
    names = set(re.findall(r"'name': '(\w+)'", asked[0]))
    assert not names & {"Bash", "Write", "Edit", "Agent", "mcp__ralph__ralph_mark_task_complete"}
    assert {"Read", "Grep", "Glob", "mcp__ralph__ralph_submit_review"} <= names
    assert [d.rule for d in run.of(ev.ToolDenied)] == ["review-only"]
    costs = run.of(ev.UsageReported)[-1].costs
    assert run.of(ev.IterationFinished)[0].cost_usd == pytest.approx(costs.iteration)
    status = json.loads((await beside("tasks", "--json", cwd=run.project)).stdout)
    assert "reviewed" in json.dumps(status)


HANGS = """
    - name: reads and hangs
      when: Ralph Review of a
      times: 1
      turns:
        - read: greet.py
        - fault: {kind: hang}
"""


@pytest.mark.costly
@pytest.mark.timeout(400)
async def test_nothing_is_left_of_a_review_whose_ralph_was_killed(tmp_path: Path) -> None:
    project = make_project(tmp_path, [PROSE], ("detected",), CONFIG)
    (temporary := tmp_path / "temporary").mkdir()
    environment = {"TMPDIR": str(temporary)}
    agrees = reviews(verdict(True, QUOTE))
    with serving_in_process(scenario(HANGS, agrees, WORKS), tmp_path) as server:
        async with ralph_running(["build", "--headless"], project, server, environment) as killed:
            await until(lambda: "Ralph Review of a" in str(server.requests()), 200, "the review")
            killed.process.kill()
            await killed.process.wait()
            await until(lambda: not marked_processes(killed.mark), 100, "an empty machine")
        again = await run_ralph(["build", "--headless"], project, server, environment)
    assert again.status == 0, again.stdout + again.stderr
    assert task_of(project, "a").status is TaskStatus.COMPLETE
    place = mirror_of(project)
    assert [path.name for path in place.iterdir() if "review" in path.name] == ["review"]
    assert [path.name for path in (place / "review").iterdir() if "discarded" in path.name] == []
    assert [path.name for path in temporary.iterdir() if "report" in path.name] == []

"""Changed checks, on the real CLI: the agent asks, the person decides about exactly what they see."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Answer
from ralph_tui.domain.permissions import CHECK_FILES, DENY, ONCE
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.verification.verification import VerificationOutcome
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from tests.cli.processes import beside
from tests.harness.model import serving
from tests.harness.projects import HAS_FILE, make_project, task, task_of
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import Meanwhile, Run, play

CHECK = "$ uv run python -m unittest"
TEST = "import unittest, price\\nclass T(unittest.TestCase):\\n    def test_price(self):\\n        self.assertEqual(price.of(2), {})\\n"
FILES = {
    "price.py": "def of(count):\n    return count * 3\n",
    "test_price.py": TEST.format(6).replace("\\n", "\n"),
}
DOES = """
        - write: {path: price.py, content: "def of(count):\\n    return count * 4\\n"}
"""
EDITS = f"""
        - write: {{path: test_price.py, content: "{TEST.format(8)}"}}
"""
ASKS = """
        - ralph: {request_check_change: {task_id: a, reason: The price is four now.}}
"""
CLAIMS = """
        - ralph: {mark_task_complete: {task_id: a, verification_notes: The price is four.}}
"""


def script(*turns: str) -> str:
    """One attempt at task a; the files were read first, as the CLI wants."""
    reads = "        - read: [price.py, test_price.py]\n"
    return f"""
    - name: raises the price
      task: a
      turns:
{reads}{"".join(turns)}        - say: That is all.
"""


def project_of(root: Path, **fields: JsonValue) -> Path:
    one = task("a", description="The price is four", verification_criteria=[CHECK], **fields)
    return make_project(root, [one], [], files=FILES)


def answering(*answers: Answer) -> Meanwhile:
    async def answer(run: Run) -> None:
        for given in answers:
            asked = await run.until_told(ev.QuestionAsked)
            Controls(run.project).answer(asked.question.id, given)

    return answer


ALONE = {"phases.building.review": "off"}


@pytest.mark.usefixtures("played_cli")
async def test_the_person_agrees_to_exactly_what_they_see(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    async with serving(scenario(script(DOES, EDITS, CLAIMS))) as server:
        run = await play(
            project,
            server,
            request=RunRequest(only=Phase.BUILDING, interactive=True),
            overrides=ALONE,
            meanwhile=answering(Answer(labels=(ONCE,), by="command")),
        )
    assert run.end.exit_code == 0, run.end.reason
    (asked,) = run.of(ev.QuestionAsked)
    assert asked.question.permission is not None
    assert asked.question.permission.tool == CHECK_FILES
    assert "-        self.assertEqual(price.of(2), 6)" in asked.question.permission.argument
    assert "+        self.assertEqual(price.of(2), 8)" in asked.question.permission.argument
    (gate,) = run.of(ev.GateFinished)
    assert (gate.passed, gate.reviewed) == (True, True)
    done = task_of(project, "a")
    assert done.verification is not None
    assert done.verification.outcome is VerificationOutcome.REVIEWED
    assert done.verification.rests_on == ("test_price.py",)


@pytest.mark.costly
@pytest.mark.usefixtures("played_cli")
@pytest.mark.parametrize("too_long", [False, True])
async def test_a_reviewer_reads_what_a_claim_rests_on_uncut_or_the_person_does(
    tmp_path: Path, *, too_long: bool
) -> None:
    project = project_of(tmp_path)
    edits = EDITS.replace(f'"{TEST[:6]}', f'"# {"x" * 70_000 * too_long}\\n{TEST[:6]}')
    data = f"        - write: {{path: a.py, content: \"A = '{'x' * 70_000}'\"}}\n"
    reads = "    - name: reads\n      when: Ralph Review of a\n      turns:\n        - say: Well.\n"
    review: dict[str, JsonValue] = {"phases.building.review": "needed"}
    async with serving(scenario(reads, script(DOES, edits, data, CLAIMS))) as server:
        await play(project, server, overrides={**review, "phases.building.max_iterations": 1})
        asked = [r.body for r in server.requests if "Ralph Review of a" in str(r.body["messages"])]
    assert bool(asked) is not too_long
    assert all("+        self.assertEqual(price.of(2), 8)" in str(body) for body in asked)
    assert (task_of(project, "a").status is TaskStatus.BLOCKED) is too_long


@pytest.mark.long
async def test_a_denial_is_told_and_the_originals_count(tmp_path: Path) -> None:
    project = project_of(tmp_path)
    denied = Answer(labels=(DENY,), other="Six it stays.", by="command")
    async with serving(scenario(script(DOES, EDITS, CLAIMS))) as server:
        await play(
            project,
            server,
            request=RunRequest(only=Phase.BUILDING, interactive=True),
            overrides={**ALONE, "phases.building.max_iterations": 1},
            meanwhile=answering(denied),
        )
        heard = "".join(str(request.body["messages"]) for request in server.requests)
    assert "Six it stays." in heard
    assert task_of(project, "a").status is TaskStatus.PENDING


@pytest.mark.long
async def test_where_nobody_is_there_the_task_waits_and_the_loop_goes_on(tmp_path: Path) -> None:
    one = task("a", description="The price is four", verification_criteria=[CHECK], priority=1)
    two = task("b", verification_criteria=[f"$ {HAS_FILE.format(name='b.txt')}"], priority=2)
    project = make_project(tmp_path, [one, two], [], files=FILES)
    async with serving(scenario(script(DOES, EDITS, ASKS), finishes("b"))) as server:
        run = await play(project, server)
        blocked = task_of(project, "a")
        assert blocked.status is TaskStatus.BLOCKED
        assert blocked.blockers[-1].startswith("Needs your decision on changed checks: test_price")
        assert task_of(project, "b").status is TaskStatus.COMPLETE
        assert "changed checks" in run.end.reason
        # The person allows it afterwards, as the blocker says.
        assert (await beside("edit", "a", "--may-change-checks", cwd=project)).returncode == 0
        assert (await beside("retry", "a", cwd=project)).returncode == 0
    async with serving(scenario(script(CLAIMS))) as server:
        run = await play(project, server)
    assert run.end.exit_code == 0, run.end.reason
    assert task_of(project, "a").changed_checks

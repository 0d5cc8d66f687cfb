"""Calls that run only when a person allows it, on the real CLI: once, for the session, or not and why."""

import asyncio
import time
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion, parse_answer
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from tests.harness.model import serving
from tests.harness.projects import make_project, task
from tests.harness.scenarios import scenario
from tests.harness.waiting import until
from tests.scenario.running import Run, play

ATTENDED = RunRequest(only=Phase.BUILDING, interactive=True)

WRITES = 'write: {path: a.txt, content: "done\\n"}'
CLAIMS = "ralph: {mark_task_complete: {task_id: a, verification_notes: Done.}}"
ACCEPTED = 'when: {last_result: "ACCEPTED:"}'
LIMIT = 12
"""Seconds; on a loaded machine a CLI takes half as long to begin."""


def works(*turns: str) -> str:
    """A session of task a that takes these turns, then does something and claims."""
    said = [*turns, WRITES, CLAIMS, f"{ACCEPTED}\n  say: Done."]
    lines = "\n".join(f"    - {turn}".replace("\n", "\n    ") for turn in said)
    return scenario(f"- name: works\n  task: a\n  turns:\n{lines}")


def given(run: Run, asked: AskedQuestion, text: str) -> None:
    Controls(run.project).answer(asked.id, parse_answer(asked.question, text, by="command"))


async def asked_of(run: Run, count: int) -> AskedQuestion:
    await until(lambda: len(run.of(ev.QuestionAsked)) >= count, what=f"question {count}")
    return run.of(ev.QuestionAsked)[count - 1].question


def files(project: Path) -> list[str]:
    return sorted(path.name for path in project.glob("*.made"))


@pytest.mark.serial
@pytest.mark.long
async def test_waiting_costs_no_time_and_a_stop_takes_the_question_back(tmp_path: Path) -> None:
    project = make_project(
        tmp_path,
        [task("a")],
        config={
            "safety": {"ask_commands": ["touch"]},
            "phases": {"building": {"iteration_timeout_seconds": LIMIT}},
            "agent": {"idle_timeout_seconds": LIMIT - 1},
        },
    )

    async def person(run: Run) -> None:
        asked = await asked_of(run, 1)
        begun = time.monotonic()
        await until(lambda: time.monotonic() - begun > LIMIT + 2, seconds=60)
        assert not run.of(ev.IterationFinished)
        await asyncio.to_thread(given, run, asked, "1")
        await asked_of(run, 2)
        await asyncio.to_thread(lambda: Controls(project).stop(now=True))

    async with serving(works("bash: touch 1.made", "bash: touch 2.made")) as server:
        run = await play(project, server, meanwhile=person, request=ATTENDED)
    assert files(project) == ["1.made"]
    assert run.of(ev.IterationFinished)[0].outcome is IterationOutcome.INTERRUPTED
    last = run.of(ev.QuestionAnswered)[-1].question
    assert (last.withdrawn, last.answer) == (True, None)
    assert Controls(project).open_questions() == ()

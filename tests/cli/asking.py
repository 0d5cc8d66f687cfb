"""A loop without a model that asks two questions and for an approval, in line mode.

`python -m tests.cli.asking ROOT` prompts where standard input is a terminal. The documents, their
watcher and the controls are the real ones.
"""

import asyncio
import json
import sys
from pathlib import Path

from ralph_tui.cli.run.headless import run_lines
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion, Option, Question
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.project_state import Approval, ApprovalKind, Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.launch import Launch
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.store.project import Project
from tests.cli.recorded import NOON, finished


def _asked(number: int, text: str, *, several: bool = False) -> AskedQuestion:
    options = (Option(label="Red"), Option(label="Green"))
    question = Question(question=text, options=options, multi_select=several)
    return AskedQuestion(
        id=f"q-{number}", batch="b", phase=Phase.DISCOVERY, question=question, asked_at=NOON
    )


QUESTIONS = (_asked(1, "Which colour first?"), _asked(2, "Which colour second?", several=True))


async def _run(project: Project, sink: EventSink) -> ev.LoopFinished:
    project_state = ProjectState(project, sink)
    await project_state.open()
    following = asyncio.create_task(project_state.follow())
    await project_state.transact(
        lambda d: d.model_copy(update={"questions": d.questions.asking(QUESTIONS)})
    )
    while project_state.docs.questions.open():
        await project_state.wait_changed()
    await project_state.transact(lambda d: d.with_state(approval=Approval(kind=ApprovalKind.PLAN)))
    sink(ev.ApprovalRequested(kind=ApprovalKind.PLAN, summary="3 tasks"))
    while (approval := project_state.docs.state.approval) and approval.approved is None:
        await project_state.wait_changed()
    following.cancel()
    answers = [q.answer.model_dump() for q in project_state.docs.questions.questions if q.answer]
    assert approval is not None
    said = json.dumps([*answers, approval.model_dump(mode="json")], separators=(",", ":"))
    (project.root / "answers.json").write_text(said, encoding="utf-8")
    return finished(LoopStatus.COMPLETE, "all is answered", 0)


def asking_launch(root: Path) -> Launch:
    async def watch(sink: EventSink) -> None:
        del sink

    project = Project(root)
    return Launch(
        root=root,
        controls=Controls(root),
        run=lambda sink: _run(project, sink),
        watch=watch,
        warm_up=lambda: None,
    )


if __name__ == "__main__":
    root = Path(sys.argv[1])
    here = sys.stdin.isatty()
    sys.exit(run_lines(lambda: asking_launch(root), as_json=False, interactive=here))

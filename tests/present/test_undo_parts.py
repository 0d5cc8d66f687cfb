"""Commits and undone work in words: the preview, the stream, an iteration and a task."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.plan.plan import Task, TaskCommit, TaskStatus
from ralph_tui.domain.run.undo_result import Undone, UndoneFile, UndoneHow, UndoPreview
from ralph_tui.domain.verification.verification import TaskVerification, VerificationOutcome
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.run_history import RunHistoryBuilder
from ralph_tui.present.sections.iteration_lines import summary_parts
from ralph_tui.present.sections.task_parts import task_parts
from ralph_tui.present.sections.undo_parts import undo_effect, undo_parts, undone_text
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.present.text.parts import parts_text

HASH = "4f0c2a91bb" + "0" * 30
COMMITTED = ev.WorkCommitted(
    task_ids=("a",), iteration=1, commit=HASH, branch="feature/x", subject="feat: a", files=2,
    additions=3, deletions=1,
)  # fmt: skip
UNDONE = ev.WorkUndone(task_id="a", iterations=(1,), files=("one", "two"), commit=HASH)


def preview(**changes: object) -> UndoPreview:
    given: dict[str, object] = {"wanted": "a", "task_id": "a", "title": "Do a", "iterations": (1,)}
    return UndoPreview.model_validate(given | changes)


def test_a_preview_lists_every_file_with_what_becomes_of_it() -> None:
    files = tuple(
        UndoneFile(path=f"\x1b[31m{how.value} [b]x", how=how, additions=1) for how in UndoneHow
    )
    text = parts_text(undo_parts(preview(files=files), 2))
    assert "restore     restore [b]x" in text
    assert "and 1 more" in text
    assert "\x1b" not in text


def test_the_effect_names_the_commit_and_what_is_left() -> None:
    one = (UndoneFile(path="a", how=UndoneHow.REMOVE, deletions=2),)
    assert undo_effect(preview()) == "No file changes. a becomes pending again."
    said = undo_effect(preview(files=one, commits_to="feature/x", whole=False))
    assert said == (
        "1 file will change (+0 -2). Ralph commits this to feature/x as a new commit. No history is "
        "rewritten. a becomes pending again. Other iterations of the task stay."
    )
    done = Undone(preview=preview(files=one, commits_to="feature/x"), commit=HASH)
    assert undone_text(done) == (
        "a is undone and pending again (1 file as before, commit 4f0c2a91bb on feature/x)."
    )


def test_an_iteration_knows_its_commit_and_that_it_was_undone() -> None:
    chronicler = RunHistoryBuilder()
    events: tuple[ev.Event, ...] = (
        ev.IterationStarted(iteration=1, task_id="a"),
        ev.IterationFinished(
            iteration=1, task_id="a", outcome=IterationOutcome.COMPLETE, reason="1 check passed"
        ),
        COMMITTED,
        UNDONE,
    )
    for at, event in enumerate(events):
        chronicler.feed(at * 10, at * 10 + 10, event)
    (iteration,) = chronicler.chronicle.iterations
    assert iteration.end == 30, "the commit belongs to it"
    text = parts_text(summary_parts(iteration, None, UNICODE))
    assert "committed as 4f0c2a91bb" in text
    assert "undone by you" in text


def test_a_task_says_where_its_work_was_committed() -> None:
    rests = TaskVerification(outcome=VerificationOutcome.VERIFIED, reason="1 check passed")
    done = Task(id="a", status=TaskStatus.COMPLETE, verification=rests)

    def shown(commit: TaskCommit) -> str:
        task = done.model_copy(update={"commit": commit})
        return parts_text(task_parts(task, LoopView(), None, UNICODE))

    assert "committed as 4f0c2a91bb on feature/x" in shown(
        TaskCommit(hash=HASH, branch="feature/x")
    )
    assert "not committed yet" in shown(TaskCommit(pending=True))
    assert "commit" not in shown(TaskCommit())

"""A preview is made anew when something that it shows is another, and only then."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.present.sections.preview import VIEW_FIELDS, preview_inputs, preview_of
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.present.text.spans import plain
from ralph_tui.present.timeline.entries import HeadingEntry
from ralph_tui.present.timeline.timeline import Timeline
from tests.tui import feed, waiting


class Watched:
    """A view that notes what is read of it."""

    def __init__(self, view: LoopView) -> None:
        self._view = view
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> object:
        self.read.add(name)
        return getattr(self._view, name)


def view_of_a_run() -> LoopView:
    view = LoopView()
    for event in feed.failed_gate():
        view = reduce(view, event)
    return view


def test_a_tasks_preview_reads_nothing_else_of_the_view() -> None:
    view = view_of_a_run()
    assert view.receipts
    for task in view.tasks.values():
        watched = Watched(view)
        preview_of(task, watched, UNICODE)  # type: ignore[arg-type]
        assert "tasks" in watched.read
        assert watched.read <= set(VIEW_FIELDS)


def test_a_text_that_grows_leaves_a_tasks_preview_alone_and_its_receipts_do_not() -> None:
    view = view_of_a_run()
    task = next(iter(view.tasks.values()))
    before = preview_inputs(task, view)
    later = view.model_copy(update={"caught_up": 50})
    assert all(a is b for a, b in zip(before, preview_inputs(task, later), strict=True))
    checked = view.model_copy(update={"receipts": ()})
    assert any(a is not b for a, b in zip(before, preview_inputs(task, checked), strict=True))


def test_the_preview_of_an_iteration_says_how_it_ended_and_what_it_changed() -> None:
    timeline = Timeline()
    for event in feed.failed_gate():
        timeline.feed(event)
    number = next(e.number for e in timeline.entries if isinstance(e, HeadingEntry))
    running = timeline.entry(number)
    assert isinstance(running, HeadingEntry)
    assert "Still running." in shown(running)
    timeline.feed(
        ev.IterationFinished(
            iteration=3,
            task_id="demo-02",
            outcome=IterationOutcome.FAILED,
            reason="1 of 3 checks failed",
            cost_usd=0.19,
            seconds=84,
            files_changed=("src/slugs.py", "notes.txt"),
        )
    )
    ended = timeline.entry(number)
    assert isinstance(ended, HeadingEntry)
    assert preview_inputs(ended, LoopView()) != preview_inputs(running, LoopView())
    for part in ("failed", "$0.19", "1 of 3 checks failed", "src/slugs.py  +3 -2", "notes.txt"):
        assert part in shown(ended)


def shown(entry: HeadingEntry) -> str:
    return "\n".join(plain(line) for line in preview_of(entry, LoopView(), UNICODE).lines(80))


def test_the_preview_of_a_question_has_its_options_and_what_they_mean() -> None:
    timeline = Timeline()
    call = ev.ToolStarted(
        tool_id="t1",
        name="AskUserQuestion",
        input={
            "questions": [
                {
                    "question": "How are names stored?",
                    "header": "Storage",
                    "multiSelect": True,
                    "options": [{"label": "JSON", "description": "One file"}, {"label": "SQLite"}],
                },
                {"no": "question"},
                "nor this",
            ]
        },
    )
    timeline.feed(call)
    timeline.feed(ev.QuestionAsked(question=waiting.asked(waiting.STORE)))
    for entry in timeline.entries[-2:]:
        shown = [plain(line) for line in preview_of(entry, LoopView(), UNICODE).lines(60)]
        assert "How are names stored?" in shown
        assert "More" not in shown
        at = shown.index("1. JSON")
        assert "Storage" in shown
        assert shown[at + 1] == "   One file"
        assert any(line.startswith("2. SQLite") for line in shown)

"""The features page: the plans of a project, to choose one or create another."""

from collections.abc import Iterable, Sequence

from textual import getters
from textual.widget import Widget

from ralph_tui.domain.features import NAME_RULE, FeatureSummary, shown_name
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.engine.control.feature_control import choose_feature, make_feature
from ralph_tui.present.text.figures import money, when
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import Line, Span, Tone, crop, flat, plain
from ralph_tui.store.feature_choice import pin_feature
from ralph_tui.store.feature_folders import Features
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.store.project import Project
from ralph_tui.tui.host.widget_host import attempt
from ralph_tui.tui.screens.dialogs.text_input import ValueDialog
from ralph_tui.tui.screens.pages.page import Page
from ralph_tui.tui.widgets.text_view import TextView

REREAD_SECONDS = 2.0

_GAP = 2
_MARK = 2
_LONGEST_NAME = 30

_HEADS = ("feature", "done", "cost", "phase", "last activity", "branch")
"""The columns, the most important first; the last ones are left out first."""

ONE_PLAN = "This project has one plan. {features.new} makes a feature beside it."


class FeaturesPage(Page):
    """Shows a row for each feature."""

    NAME = "features"
    AUTO_FOCUS = "#features"

    rows = getters.query_one("#features", TextView)

    def __init__(self, library: JournalLibrary) -> None:
        super().__init__()
        del library  # this page shows nothing of the journal
        self._found: Sequence[FeatureSummary] | None = None
        self._shown = ""

    def body(self) -> Iterable[Widget]:
        yield TextView(id="features")

    # Reading.

    def opened(self) -> None:
        """Read the features now and periodically, because other terminals may change them."""
        self.rows.border_title = "features"
        self.rows.show_message("loading")
        self._read()
        self.set_interval(REREAD_SECONDS, self._read)

    def view_changed(self, view: LoopView) -> None:
        if view.feature != self._shown and self._found:
            self._show(self._found)

    def _read(self) -> None:
        root = self.app.launch.root
        self.read(
            lambda _: Features(root).summaries(), self._take, group="features", failed=self._failed
        )

    def _failed(self, text: str) -> None:
        if self.is_attached:
            self._found = None
            self.rows.show_message(text, Tone.BAD)

    def _take(self, found: Sequence[FeatureSummary]) -> None:
        if self.is_attached and found != self._found:
            self._show(found)

    def _show(self, found: Sequence[FeatureSummary]) -> None:
        first = not self._found
        self._found, self._shown = found, self.app.view.feature
        if found:
            shown, glyphs = self._shown, self.app.glyphs
            self.rows.show_made(lambda width: feature_blocks(found, shown, width, glyphs))
            if first:
                self.rows.move_cursor(shown)
        else:
            self.rows.show_message(self.app.keys.said(ONE_PLAN))
        self.search_again()
        self.refresh_keys()

    # Commands.

    def not_now(self, name: str) -> str:
        if name in ("choose", "archive") and not self._found:
            return self.app.keys.said(ONE_PLAN)
        return super().not_now(name)

    def on_row_list_opened(self) -> None:
        self.action_invoke("choose")

    async def do_choose(self) -> None:
        name = self.rows.cursor
        if not isinstance(name, str):
            return
        if name == self.app.view.feature:
            self.app.show_message(f"{shown_name(name)} is already chosen.")
            return
        root = self.app.launch.root

        def choose() -> bool:
            choose_feature(root, name)
            return True

        if await attempt(self.app, choose):
            self._switch_to(name)

    async def do_new(self) -> None:
        typed = await self.app.push_screen_wait(ValueDialog("New feature", NAME_RULE, ""))
        if typed is None or not typed.strip():
            return
        name = typed.strip()
        root = self.app.launch.root
        chosen = await attempt(self.app, lambda: make_feature(root, name))
        if chosen:
            self._switch_to(name)
        elif chosen is not None:
            self.app.show_message(f"Created the feature {name}. Choose it when no loop is running.")
            self._read()

    async def do_archive(self) -> None:
        from ralph_tui.engine.control.archiving import archive_by_hand  # imports the formats

        name = self.rows.cursor
        if not isinstance(name, str):
            return
        project = Project(self.app.launch.root, name)
        made = await attempt(self.app, lambda: archive_by_hand(project, utc_now()))
        if made is None:
            return
        tasks = plural(made.tasks_total, "task")
        message = f"Archived {tasks} in .ralph/archive/{made.name}. "
        self.app.show_message(message + self.app.keys.said("Press {memory} to see it."))

    def _switch_to(self, name: str) -> None:
        pin_feature(name)
        self.app.launch.controls.pin_feature(name)
        self.app.watch_again()
        self.app.show_message(f"Now working on {shown_name(name)}.")
        self._read()


def feature_blocks(
    found: Sequence[FeatureSummary], shown: str, width: int, glyphs: Glyphs
) -> list[LineBlock]:
    """Return a row for each feature, keyed by name, below a row with the names of the columns."""
    cells = [_cells(one) for one in found]
    longest = [max(len(row[at]) for row in (_HEADS, *cells)) for at in range(len(_HEADS))]
    sizes = [min(size, _LONGEST_NAME) for size in longest]
    count = len(_HEADS)
    while count > 2 and _row_width(sizes[:count]) > width:
        count -= 1
    left = max(0, width - _row_width(sizes[:count]))
    for at in range(count):  # names and branches that were cut get the remaining room
        more = min(left, longest[at] - sizes[at])
        sizes[at], left = sizes[at] + more, left - more
    blocks = [LineBlock(None, [_line(_HEADS, sizes[:count], " ", Tone.MUTED)], folds=False)]
    for one, full in zip(found, cells, strict=True):
        row = [_cut(cell, size, glyphs) for cell, size in zip(full, sizes, strict=True)]
        chosen = one.name == shown
        mark = glyphs.current if chosen else " "
        lines = [_line(row, sizes[:count], mark, Tone.TITLE if chosen else Tone.TEXT)]
        if one.trouble:
            lines.append([Span(" " * _MARK), Span(flat(one.trouble), Tone.BAD)])
        blocks.append(LineBlock(one.name, lines))
    return blocks


def _row_width(sizes: Sequence[int]) -> int:
    return _MARK + sum(sizes) + _GAP * (len(sizes) - 1)


def _cut(cell: str, size: int, glyphs: Glyphs) -> str:
    return plain(crop([Span(cell)], size, glyphs.ellipsis))


def _cells(one: FeatureSummary) -> tuple[str, ...]:
    active = when(one.last_activity) if one.last_activity else ""
    done = f"{one.done} of {one.total}" if one.total else "no tasks"
    if one.trouble:
        return (one.shown, "?", money(one.cost_usd), "", active, one.branch)
    return (one.shown, done, money(one.cost_usd), one.phase.value, active, one.branch)


def _line(cells: Sequence[str], sizes: Sequence[int], mark: str, tone: Tone) -> Line:
    rest = "".join(
        f"{' ' * _GAP}{cell.ljust(size)}" for cell, size in zip(cells[1:], sizes[1:], strict=False)
    )
    first = Span(cells[0].ljust(sizes[0]), tone)
    return [Span(mark.ljust(_MARK), Tone.ACCENT), first, Span(rest.rstrip(), Tone.MUTED)]

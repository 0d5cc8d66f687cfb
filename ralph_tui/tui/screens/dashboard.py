"""Shows the running loop: the dashboard, with board, stream and status.

Header             state, project, phase, iteration; the current task and why it was chosen
BannerFrame        how to start, or how a run ended
PaneTabs           below 100 columns
StatusStrip
Board | Stream | StatusPane (context, cost, breaker, gate, steps, files; from 140 columns also the preview)
DashboardFooter    keys from the registry
"""

from collections.abc import Sequence
from operator import is_

from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.content import Content
from textual.reactive import var
from textual.screen import Screen
from textual.widgets import Static

from ralph_tui.domain.events import Event
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.domain.view.forecast import Forecast, forecast
from ralph_tui.domain.view.loop_view import LoadState, LoopView, RunState
from ralph_tui.present.board.board_rows import wanted_cells, why_empty
from ralph_tui.present.board.columns import WIDE, WIDEST, share_width
from ralph_tui.present.sections.banner import (
    banner_of,
    trouble_banner,
    unfinished_banner,
    waiting_banner,
    with_findings,
)
from ralph_tui.present.sections.preview import preview_inputs, preview_of
from ralph_tui.present.text.status_labels import look_of
from ralph_tui.present.timeline.entries import Entry
from ralph_tui.present.timeline.timeline import Timeline
from ralph_tui.tui.commands.availability import CommandContext
from ralph_tui.tui.commands.registry import BY_NAME
from ralph_tui.tui.host.widget_host import Host, TaskPicker
from ralph_tui.tui.terminal.private import bind
from ralph_tui.tui.widgets.board import Board
from ralph_tui.tui.widgets.footer import DashboardFooter
from ralph_tui.tui.widgets.header import BannerFrame, Header
from ralph_tui.tui.widgets.links import LinkLine
from ralph_tui.tui.widgets.search import Searchable, Searching
from ralph_tui.tui.widgets.status_panels import (
    BreakerPanel,
    ChangedFilesPanel,
    ContextGauge,
    CostPanel,
    PreviewPanel,
    StatusPane,
    StatusStrip,
    StepsPanel,
    VerificationPanel,
    task_cost,
)
from ralph_tui.tui.widgets.stream import Stream
from ralph_tui.tui.widgets.tabs import PANES, PaneTabs

SLOW_SECONDS = 0.5
"""Seconds of reading a project before the screen says so; a shorter time would flicker."""

Selected = Task | Entry | CircuitBreaker | None


class Dashboard(Screen[None], Searching, TaskPicker):
    """Passes each widget its part of the view, and tracks the pane in use."""

    AUTO_FOCUS = "#activity"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it as an instance variable
        (0, "-narrow"),
        (WIDE, "-wide"),
        (WIDEST, "-widest"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it as an instance variable
        (0, "-lowest"),
        (28, "-low"),
        (36, "-mid"),
        (48, "-high"),
    ]

    app = getters.app(Host)
    header = getters.query_one(Header)
    banner = getters.query_one(BannerFrame)
    pane_tabs = getters.query_one(PaneTabs)
    strip = getters.query_one(StatusStrip)
    board = getters.query_one("#tasks", Board)
    stream = getters.query_one("#activity", Stream)
    side = getters.query_one("#status", StatusPane)
    gauge = getters.query_one(ContextGauge)
    cost = getters.query_one(CostPanel)
    breaker = getters.query_one(BreakerPanel)
    gate = getters.query_one(VerificationPanel)
    steps = getters.query_one(StepsPanel)
    files = getters.query_one(ChangedFilesPanel)
    preview = getters.query_one(PreviewPanel)
    footer = getters.query_one(DashboardFooter)

    _columns = ""
    _previewed: tuple[object, ...] = ()
    """What the current preview was made from."""
    _chosen = False
    pane: var[str] = var("activity", init=False)
    """The pane that is visible when there is room for only one."""

    def compose(self) -> ComposeResult:
        yield Header()
        yield BannerFrame()
        yield PaneTabs()
        yield StatusStrip()
        with Container(id="body"):
            yield Board(id="tasks")
            root = self.app.launch.root
            roots = tuple({str(root): None, str(root.resolve()): None})
            yield Stream(Timeline(roots=roots), id="activity")
            with StatusPane(id="status"):
                yield ContextGauge()
                yield CostPanel()
                yield BreakerPanel()
                yield VerificationPanel()
                yield StepsPanel()
                yield ChangedFilesPanel()
                yield PreviewPanel()
        yield DashboardFooter()

    @property
    def is_composed(self) -> bool:
        # Called at every flush; a query would walk through all widgets.
        return self.is_attached and any(
            isinstance(child, DashboardFooter) for child in self.children
        )

    def on_mount(self) -> None:
        # Textual's own Tab skips the status pane, which is displayed only while it has the focus.
        bind(
            self,
            [
                Binding(
                    ",".join(self.app.keys_of(BY_NAME[name])), f"app.invoke('{name}')", show=False
                )
                for name in ("next_pane", "previous_pane")
            ],
        )
        self.add_class("-pane-activity")
        self.watch(self.app, "view", self.show, init=True)
        self.set_timer(SLOW_SECONDS, self.show_slow)

    def on_resize(self) -> None:
        self._share_width()
        self.call_after_refresh(self.show_preview)

    def _share_width(self) -> None:
        width = self.size.width
        wanted = wanted_cells(self.board.tasks.values(), width)
        board, _, side = share_width(width, wanted)
        columns = f"{board} 1fr {side or ''}".rstrip()
        if columns != self._columns:
            self._columns = columns
            self.query_one("#body").styles.grid_columns = columns

    def show_slow(self) -> None:
        self.header.slow = True

    def show(self, view: LoopView) -> None:
        """Pass each widget its part of the view; a widget repaints only if its part changed."""
        with self.app.batch_update():
            self.header.view = view
            self.strip.view = view
            self.board.why_empty = why_empty(view)
            panels = (self.gauge, self.cost, self.breaker, self.gate, self.steps, self.files)
            for panel in panels:
                panel.known = view.is_known
            if view.is_known:
                self._show_figures(view)
            self.set_class(any(panel.needs_attention for panel in panels), "-matters")
        self.refresh_keys()
        self.show_preview()

    def _show_figures(self, view: LoopView) -> None:
        if self.board.tasks is not view.tasks or self.gauge.past is not view.iterations:
            self.cost.left = self.strip.left = remaining_forecast(view)
        if self.board.tasks is not view.tasks:
            self.board.tasks = view.tasks
            self._share_width()
        self.gauge.smart_zone, self.gauge.budget = view.smart_zone, view.budget
        self.gauge.past = view.iterations
        self.cost.limits, self.cost.costs = view.limits, view.costs
        self.cost.share = task_cost(view)
        self.breaker.breaker = view.breaker
        self.gate.task_id, self.gate.passed = view.gate_task_id, view.gate_passed
        self.steps.running, self.steps.ended = view.step, view.steps
        self.gate.receipts, self.gate.past = view.receipts, view.gate_is_past

    def absorb(self, batch: Sequence[Event]) -> None:
        self.stream.absorb(batch)
        self.files.files = self.stream.timeline.changed_files

    def show_banner(self) -> None:
        view, glyphs, keys = self.app.view, self.app.glyphs, self.app.keys
        finished = self.app.bridge.finished
        running = self.app.bridge.live and finished is None
        if view.trouble:
            self.banner.banner = trouble_banner(view)
        elif not view.is_known and finished is None:
            self.banner.banner = None
        elif view.unfinished:
            self.banner.banner = unfinished_banner(view)
        elif running:
            self.banner.banner = waiting_banner(view, self.app.clock(), keys)
        else:
            request, plans = self.app.request, self.app.foreign_plans
            made = banner_of(view, finished, request, glyphs=glyphs, keys=keys, plans=plans)
            begins = view.run_state is RunState.IDLE and not view.finished
            found = self.app.findings if begins else ()
            self.banner.banner = with_findings(made, found, glyphs, keys)
        self._choose_default_pane(idle=not running and view.run_state is RunState.IDLE)

    def draw(self) -> bool:
        """Draw the activity, unless past events are still being read; return whether there was anything new."""
        is_new = self.app.view.sight is not LoadState.PAST and self.stream.draw()
        if is_new:
            self.show_preview()
        return is_new

    def activity(self) -> list[Entry]:
        return [] if self.app.view.sight is LoadState.PAST else self.stream.shown()

    def refresh_keys(self) -> None:
        now: CommandContext = self.app.command_context()
        self.footer.command_context = now

    def show_preview(self) -> None:
        if not self.has_class("-widest"):
            return
        chosen = self.board.selected if self.board.has_focus else self.stream.selected
        glyphs = self.app.glyphs
        made_of = (glyphs, *preview_inputs(chosen, self.app.view))
        # Called at every drawing of the stream, when the item under the cursor has rarely changed.
        if len(made_of) == len(self._previewed) and all(map(is_, made_of, self._previewed)):
            return
        self._previewed = made_of
        self.preview.known = True
        self.preview.preview = preview_of(chosen, self.app.view, glyphs) if chosen else None

    def on_row_list_moved(self) -> None:
        self.show_preview()

    # The selection.

    @property
    def selected(self) -> Task | None:
        """The board's selected task if the board has the focus, or else the current one."""
        if not self.is_mounted:
            return None
        chosen = self.board.selected if self.board.has_focus else None
        return chosen or self.app.view.current_task

    def choose(self, task: Task) -> None:
        if self.board.has_focus and self.board.row_of(task.id) is not None:
            self.board.move_cursor(task.id)

    def selection(self) -> Selected:
        if self.side.has_focus:
            return self.app.view.breaker
        return self.board.selected if self.board.has_focus else self.stream.selected

    def on_row_list_opened(self) -> None:
        self.app.action_invoke("detail")

    def on_breaker_panel_opened(self) -> None:
        self.app.action_invoke("detail")

    # Searching.

    async def search(self) -> None:
        name = next((n for n in PANES if self.pane_widget(n).has_focus), "activity")
        self.go_to(name)
        await self.open_search(self.pane_widget(name))

    # Panes.

    def pane_widget(self, name: str) -> Searchable:
        panes: dict[str, Searchable] = {
            "tasks": self.board,
            "activity": self.stream,
            "status": self.side,
        }
        return panes[name]

    def _choose_default_pane(self, *, idle: bool) -> None:
        wanted = "tasks" if idle and self.board.tasks else "activity"
        if self.has_class("-narrow") and not self._chosen and self.pane != wanted:
            self._focus_pane(wanted)

    def go_to(self, name: str) -> None:
        self._chosen = True
        self._focus_pane(name)

    def _focus_pane(self, name: str) -> None:
        self.pane = name
        self.pane_widget(name).focus()

    def step_pane(self, step: int) -> None:
        self.go_to(PANES[(PANES.index(self.pane) + step) % len(PANES)])

    def zoom(self) -> bool:
        """Show only the pane in use, or all panes again; return False on a narrow screen, which shows only one."""
        if self.has_class("-narrow"):
            return False
        self.toggle_class("-zoomed")
        self.call_after_refresh(self.show_preview)
        return True

    def watch_pane(self, pane: str) -> None:
        self.pane_tabs.active = pane
        for name in PANES:
            self.set_class(name == pane, f"-pane-{name}")

    def on_link_line_followed(self, message: LinkLine.Followed) -> None:
        self.app.action_invoke(message.name)

    def on_descendant_focus(self) -> None:
        for name in PANES:
            if self.pane_widget(name).has_focus:
                self.pane = name
        self.refresh_keys()
        self.show_preview()


def remaining_forecast(view: LoopView) -> Forecast | None:
    """Return the forecast for the open tasks, or None without a plan."""
    if not view.tasks:
        return None
    tries = [it for it in view.iterations if it.task_id in view.tasks]
    return forecast(tries, len(view.tasks) - view.tasks.complete)


MIN_WIDTH = 60
MIN_HEIGHT = 16


def is_too_small(width: int, height: int) -> bool:
    return width < MIN_WIDTH or height < MIN_HEIGHT


class TooSmall(Screen[None]):
    """Shows which size is needed, and that the loop continues."""

    app = getters.app(Host)

    def compose(self) -> ComposeResult:
        yield Static(id="too-small")

    def on_mount(self) -> None:
        self.watch(self.app, "view", self.show, init=True)

    def on_resize(self) -> None:
        self.show()

    def show(self) -> None:
        look = look_of(self.app.view)
        size = self.app.size
        self.query_one(Static).update(
            Content(
                f"{getattr(self.app.glyphs, look.glyph)} {look.word}\n"
                f"This terminal is {size.width}x{size.height}.\n"
                f"ralph needs at least {MIN_WIDTH}x{MIN_HEIGHT}. 80x24 works best.\n"
                f"The loop is not affected. Press {self.app.keys.label('quit')} to quit."
            )
        )

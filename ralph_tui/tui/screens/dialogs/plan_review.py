"""Shows the plan to read and change, for approval or at any time."""

from collections.abc import Iterable

from textual import getters
from textual.binding import Binding
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from ralph_tui.domain.plan.plan import Task, plan_size, work_order
from ralph_tui.domain.plan.task_map import Tasks
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.board.plan_graph import graph_blocks
from ralph_tui.present.sections.approval_parts import plan_blocks
from ralph_tui.present.text.parts import Part
from ralph_tui.tui.commands.registry import BY_NAME
from ralph_tui.tui.host.widget_host import Host, TaskPicker
from ralph_tui.tui.screens.dialogs.approval import ApprovalDialog
from ralph_tui.tui.screens.dialogs.dialog import Dialog
from ralph_tui.tui.terminal.private import bind
from ralph_tui.tui.widgets.dialog_frame import SCROLLS, DialogFrame
from ralph_tui.tui.widgets.text_view import TextView


class PlanText(TextView):
    """The plan as a graph or a list; the cursor stays on the same task."""

    tasks = Tasks()
    is_graph = False
    _order: tuple[str, ...] = ()

    def show_plan(self, tasks: Tasks) -> None:
        if not tasks.is_ordered_like(self.tasks):
            self._order = ()
        self.tasks = tasks
        if self.is_graph:
            self._order = self._order or tuple(task.id for task in work_order(tasks.values()))
            order = [tasks[task_id] for task_id in self._order]
            self.show_made(lambda width: graph_blocks(order, tasks, width, self.app.glyphs))
        else:
            self.show_blocks(plan_blocks(tasks, self.app.glyphs))

    def toggle_graph(self) -> None:
        self.is_graph = not self.is_graph
        self.show_plan(self.tasks)

    @property
    def selected(self) -> Task | None:
        return self.tasks.get(self.cursor) if isinstance(self.cursor, str) else None


CHANGES = ("detail", "edit", "add", "split", "drop", "sooner", "later", "hold", "model")
"""Commands that change the plan; those for a task act on the one under the cursor."""


_CHANGE = "{detail} task menu, {add} add, {sooner} {later} move"


class PlanEditing(TaskPicker):
    """The plan and the keys that change it, shared by both screens."""

    app = getters.app(Host)
    plan = getters.query_one(PlanText)

    @property
    def selected(self) -> Task | None:
        return self.plan.selected

    def choose(self, task: Task) -> None:
        self.plan.move_cursor(task.id)

    def bind_changes(self, own: Iterable[str], *more: str) -> None:
        """Bind the person's keys for the changes and for `more`, unless the dialog uses them itself."""
        taken = set(own)
        keys = {name: self.app.keys_of(BY_NAME[name]) for name in (*CHANGES, *more)}
        bind(
            self,
            [
                Binding(key, f"change('{name}')", show=False)
                for name, given in keys.items()
                for key in given
                if key not in taken
            ],
        )

    def change_keys(self) -> str:
        turn = "list" if self.plan.is_graph else "graph"
        return f"v {turn}, {self.app.keys.said(_CHANGE)}"

    def on_row_list_opened(self) -> None:
        self.app.action_invoke("detail")

    def action_change(self, name: str) -> None:
        self.app.action_invoke(name)


class PlanApproval(ApprovalDialog, PlanEditing):
    """Asks for approval of the plan, which can be changed before."""

    BINDINGS = [Binding("v", "turn", show=False)]  # noqa: RUF012 - as Textual declares it

    def footer_text(self) -> str:
        yes, no = self.verdicts
        more = self.app.keys.said("{search} search, {copy} copy, {share} export")
        return f"ctrl+y {yes}, ctrl+r {no}, esc later, {self.change_keys()}; {more}"

    def content_view(self) -> PlanText:
        return PlanText(id="approved").add_class(SCROLLS)

    def on_mount(self) -> None:
        self.bind_changes(("ctrl+y", "ctrl+r", "v", "escape"))

    def show_parts(self, parts: list[Part]) -> None:
        del parts  # the view has the plan
        self._show()

    def _show(self) -> None:
        tasks = self.app.view.tasks
        self.plan.show_plan(tasks)
        for summary in self.query(".summary").results(Static):
            summary.update(Content(plan_size(tasks.values())))
        self.update_footer()

    def follow(self, view: LoopView) -> None:
        super().follow(view)
        if self.is_attached and view.tasks is not self.plan.tasks:
            self._show()

    def action_turn(self) -> None:
        self.plan.toggle_graph()
        self._show()

    def full_text(self) -> str:
        return self.plan.text()


class PlanReview(Dialog[None], PlanEditing):
    """Shows the plan at any time."""

    STEM = "plan"

    BINDINGS = [  # noqa: RUF012 - as Textual declares it
        Binding("v", "turn", show=False),
        Binding("q", "cancel", show=False),
        Binding("ctrl+r", "change('replan')", show=False),
    ]

    def footer_text(self) -> str:
        more = self.app.keys.said("{search} search, {copy} copy, {share} export")
        return f"esc close, {self.change_keys()}, ctrl+r request changes; {more}"

    def compose_frame(self) -> Iterable[Widget]:
        with DialogFrame(classes="dialog -large -approval") as frame:
            frame.border_title = Content("plan")
            yield PlanText(id="approved").add_class(SCROLLS)

    def on_mount(self) -> None:
        self.bind_changes(("v", "q", "escape", "ctrl+r"), "replan")
        self.plan.is_graph = True
        self.plan.focus()
        self.watch(self.app, "view", self._show, init=True)

    def _show(self, view: LoopView) -> None:
        if not self.is_attached:
            return
        if view.tasks is not self.plan.tasks or not self.plan.row_count():
            self.plan.show_plan(view.tasks)
        self.update_footer()

    def action_turn(self) -> None:
        self.plan.toggle_graph()
        self._show(self.app.view)

    def search_target(self) -> PlanText:
        return self.plan

    def chosen_text(self) -> str:
        return self.plan.chosen_text()

    def full_text(self) -> str:
        return self.plan.text()

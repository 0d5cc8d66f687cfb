"""The plan as a list with everything, or drawn as a graph; tasks can be chosen in both."""

from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.plan.plan_order import work_order
from ralph_tui.domain.plan.task_map import Tasks
from ralph_tui.tui.render.approval import plan_blocks
from ralph_tui.tui.render.graph import graph_blocks
from ralph_tui.tui.widgets.text_view import TextView


class PlanText(TextView):
    """Keeps its cursor on the same task, whoever changes the plan."""

    tasks = Tasks()
    is_graph = False
    _order: tuple[str, ...] = ()

    def show_plan(self, tasks: Tasks) -> None:
        """Show the plan as it is now."""
        if not tasks.is_ordered_like(self.tasks):
            self._order = ()
        self.tasks = tasks
        if self.is_graph:
            self._order = self._order or tuple(task.id for task in work_order(tasks.values()))
            order = [tasks[task_id] for task_id in self._order]
            self.show_made(lambda width: graph_blocks(order, tasks, width, self.app.glyphs))
        else:
            self.show_blocks(plan_blocks(tasks, self.app.glyphs))

    def turn(self) -> None:
        """The other way to see it."""
        self.is_graph = not self.is_graph
        self.show_plan(self.tasks)

    @property
    def selected(self) -> Task | None:
        """The task under the cursor."""
        return self.tasks.get(self.cursor) if isinstance(self.cursor, str) else None

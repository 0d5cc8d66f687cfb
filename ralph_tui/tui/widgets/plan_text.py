"""The plan as a list with everything, or drawn as a graph; tasks can be chosen in both."""

from collections.abc import Mapping

from ralph_tui.domain.plan import Task
from ralph_tui.tui.render.approval import plan_blocks
from ralph_tui.tui.render.graph import graph_blocks, work_order
from ralph_tui.tui.widgets.text_view import TextView


class PlanText(TextView):
    """Keeps its cursor on the same task, whoever changes the plan."""

    tasks: Mapping[str, Task] = {}
    is_graph = False

    def show_plan(self, tasks: Mapping[str, Task]) -> None:
        """Show the plan as it is now."""
        self.tasks = tasks
        if self.is_graph:
            order = work_order(tasks.values())
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

"""What was spent, against the three limits."""

from collections.abc import Sequence
from typing import NamedTuple

from textual.reactive import reactive

from ralph_tui.domain.formatting import duration
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.run.costs import CostLevel, CostLimits, CostMeter
from ralph_tui.domain.view.forecast import Forecast
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.tui.glyphs import Glyphs
from ralph_tui.tui.render.bars import bar, level_tone
from ralph_tui.tui.render.figures import limit, money, plural
from ralph_tui.tui.render.spans import Line, Span, Tone, crop, crop_words, row, width_of
from ralph_tui.tui.render.states import Look
from ralph_tui.tui.widgets.panel import Panel

_FIGURES = 30
"""Cells of name, amount and limit; the bar has the rest."""


class TaskCost(NamedTuple):
    """What a task cost, and which."""

    usd: float
    whose: str


class CostPanel(Panel):
    """Iteration, session and total, each with its limit; the task; what is left to spend."""

    TITLE = "cost"

    costs: reactive[CostMeter] = reactive(CostMeter())
    limits: reactive[CostLimits] = reactive(CostLimits())
    share: reactive[TaskCost | None] = reactive(None)
    left: reactive[Forecast | None] = reactive(None)

    def watch_costs(self) -> None:
        """The word in the border says how near the nearest limit is."""
        self.caption()

    def watch_limits(self) -> None:
        """The same when a limit moved."""
        self.caption()

    def caption(self) -> None:
        """Within, near or at a limit."""
        self.show_look(cost_look(self.costs, self.limits))

    def lines(self, width: int) -> Sequence[Line]:
        """One line per level, the task below its iteration, and what is left to spend."""
        first, *others = (self._level(level, width) for level in CostLevel)
        glyphs = self.app.glyphs
        task = task_line(self.share, width, glyphs)
        return [first, task, *others, forecast_line(self.left, width, glyphs)]

    def _level(self, level: CostLevel, width: int) -> Line:
        spent, most = self.costs.of(level), self.limits.of(level)
        share = _share(spent, most)
        line = [
            Span(f"{level.value.ljust(10)}", Tone.MUTED),
            Span(f"{money(spent):>8}", Tone.TEXT if share < 0.8 else level_tone(share)),
            Span(f" of {limit(most)}".ljust(11), Tone.MUTED),
        ]
        room = width - _FIGURES
        return [*line, *bar(share, room, level_tone(share), self.app.glyphs)] if room > 3 else line


def task_cost(view: LoopView) -> TaskCost | None:
    """What the task has cost in all its tries; between two, what one cost on average."""
    task = view.current_task
    if task is not None:
        now = view.costs.iteration if task.status is TaskStatus.IN_PROGRESS else 0.0
        return TaskCost((task.actual_cost_usd or 0.0) + now, task.id)
    paid = [t for t in view.tasks.values() if t.actual_cost_usd is not None]
    if known := [t for t in paid if t.status is TaskStatus.COMPLETE]:
        return TaskCost(_mean(known), f"on average of {len(known):,}")
    return TaskCost(_mean(paid), f"each of {len(paid):,} tried") if paid else None


def _mean(tasks: Sequence[Task]) -> float:
    return sum(task.actual_cost_usd or 0.0 for task in tasks) / len(tasks)


def task_line(cost: TaskCost | None, width: int, glyphs: Glyphs) -> Line:
    """The task's own share, whose it is beside it."""
    name = Span("task      ", Tone.MUTED)
    if cost is None:
        return [name, Span(" none was worked yet", Tone.MUTED)]
    line = [name, Span(f"{money(cost.usd):>8}"), Span(f" {cost.whose}", Tone.MUTED)]
    return crop(line, width, glyphs.ellipsis)


def forecast_line(left: Forecast | None, width: int, glyphs: Glyphs) -> Line:
    """What the rest of the plan will take, and how many finished tasks say so."""
    name = Span("to finish ", Tone.MUTED)
    if left is None or not left.open_tasks or not left.finished:
        why = "there is no plan yet" if left is None else left.basis.partition(",")[0]
        return crop_words([name, Span(f" {why}", Tone.MUTED)], width, glyphs.ellipsis)
    amount = [name, Span(f"{money(left.cost_usd):>8}")]
    time = Span(f" {glyphs.between} {duration(left.seconds)}", Tone.MUTED)
    basis = [Span(f"from {plural(left.finished, 'task')}", Tone.MUTED)]
    fits = width_of([*amount, time, *basis]) < width
    return row([*amount, time] if fits else amount, basis, width, glyphs.ellipsis)


def _share(spent: float, most: float) -> float:
    return spent / most if most else 0.0  # 0 is no limit


def cost_look(costs: CostMeter, limits: CostLimits) -> Look:
    """The state of the level that is nearest its limit."""
    share = max(_share(costs.of(level), limits.of(level)) for level in CostLevel)
    if share >= 1:
        return Look("failed", "limit reached", Tone.BAD)
    return Look("warning", "near a limit", Tone.WARN) if share >= 0.8 else _WITHIN


_WITHIN = Look("ok", "within limits", Tone.OK)

"""The status pane and its panels: context, cost, breaker, verification, changed files; and the same in one line."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive

from ralph_tui.domain.costs import CostLevel, CostLimits, CostMeter
from ralph_tui.domain.events import IterationFinished, StepFinished, StepStarted
from ralph_tui.domain.formatting import duration, plural, took
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.domain.run.context_budget import ContextBudget
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.verification import Receipt
from ralph_tui.domain.view.forecast import Forecast
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.sections.bars import bar, context_bar, level_tone
from ralph_tui.present.sections.breaker_signals import breaker_lines
from ralph_tui.present.sections.preview import Preview
from ralph_tui.present.text.figures import limit, money, tokens
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.spans import (
    Line,
    Span,
    Tone,
    crop,
    crop_middle,
    crop_path,
    crop_words,
    plain,
    row,
    width_of,
    wrap,
)
from ralph_tui.present.text.status_labels import BREAKER, RECEIPT, STEP, ZONE, Look
from ralph_tui.present.timeline.changed_files import FileChange
from ralph_tui.present.timeline.entry_lines import receipt_note
from ralph_tui.tui.widgets.links import LinkLine
from ralph_tui.tui.widgets.scroll_text import ScrollText
from ralph_tui.tui.widgets.styled import StyledWidget

MIN_CELLS = 16


class Panel(StyledWidget):
    """A framed panel of lines; a subclass keeps its part of the view in reactives."""

    TITLE = ""

    known: reactive[bool] = reactive(default=False)
    """Whether the project was read; until then, the panel is empty."""

    def on_mount(self) -> None:
        self.border_title = self.TITLE
        self.update_caption()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport
        return len(self.shown(max(MIN_CELLS, width)))

    def render(self) -> Content:
        return self.content(self.shown(max(MIN_CELLS, self.content_size.width or 36)))

    def watch_known(self) -> None:
        self.update_caption()

    @property
    def needs_attention(self) -> bool:
        """Whether the panel shows a warning or an error, so that it opens automatically."""
        return self.has_class("-warn") or self.has_class("-bad")

    def shown(self, width: int) -> Sequence[Line]:
        """Return the lines, or as many empty ones, so that nothing moves when the project is read."""
        lines = self.lines(width)
        return lines if self.known else [[Span(" ")] for _ in lines]

    def lines(self, width: int) -> Sequence[Line]:
        raise NotImplementedError

    def update_caption(self) -> None:
        """Set the text in the lower border, if the panel has one."""

    def show_look(self, look: Look) -> None:
        """Show a state in the lower border as glyph and word, colored by a CSS class."""
        word = one_line(f"{getattr(self.app.glyphs, look.glyph)} {look.word}", 40)
        self.border_subtitle = Content(word if self.known else "")
        for tone in ("ok", "info", "warn", "bad", "muted"):
            self.set_class(self.known and look.tone == tone, f"-{tone}")


class BreakerPanel(Panel):
    """Shows the breaker's main signals and the one nearest to its threshold; Enter shows all."""

    TITLE = "breaker"

    class Opened(Message):
        """Posted when the panel was double-clicked."""

    breaker: reactive[CircuitBreaker] = reactive(CircuitBreaker())

    def on_click(self, event: events.Click) -> None:
        if event.chain == 2:
            self.post_message(self.Opened())

    def watch_breaker(self) -> None:
        self.update_caption()

    def update_caption(self) -> None:
        self.show_look(breaker_look(self.breaker))

    def lines(self, width: int) -> Sequence[Line]:
        """Return four lines, always, so that nothing below moves."""
        return breaker_lines(self.breaker, width, self.app.glyphs)


def breaker_look(breaker: CircuitBreaker) -> Look:
    look, most = BREAKER[breaker.state], breaker.max_consecutive_failures
    is_near = look.tone is Tone.OK and 0 < most - 1 <= breaker.failure_count
    return Look("warning", "opens at the next failure", Tone.WARN) if is_near else look


MAX_LINES = 8
"""Maximum number of files in the panel, the last ones; the iterations page has all."""


class ChangedFilesPanel(Panel):
    """Shows a line per changed file; it is the last panel, so that it can grow without moving another."""

    TITLE = "files"

    files: reactive[tuple[FileChange, ...]] = reactive((), layout=True)

    def watch_files(self) -> None:
        self.set_class(bool(self.files), "-some")
        self.update_caption()

    def update_caption(self) -> None:
        changed = f"{plural(len(self.files), 'file')} changed" if self.files else "none changed"
        self.show_look(Look("note", changed, Tone.MUTED))

    def lines(self, width: int) -> Sequence[Line]:
        if not self.files:
            return [[Span("no files changed in this iteration", Tone.MUTED)]]
        shown = self.files[-MAX_LINES:]
        more = len(self.files) - len(shown)
        above: list[Line] = [[Span(f"{more:,} earlier", Tone.MUTED)]] if more else []
        return [*above, *(self._file(change, width) for change in shown)]

    def _file(self, change: FileChange, width: int) -> Line:
        figures = (
            [Span(f"+{change.added} ", Tone.OK), Span(f"-{change.removed}", Tone.BAD)]
            if change.counted
            else [Span("by a command", Tone.MUTED)]
        )
        room = width - width_of(figures) - 1
        path = crop_path(change.path, room, self.app.glyphs.ellipsis)
        return row([Span(path)], figures, width, self.app.glyphs.ellipsis)


STEP_LINES = 5
"""Maximum number of steps in the panel, the last ones; the stream has all."""


class StepsPanel(Panel):
    """Shows the configured steps: how each last ended, and the one that runs."""

    TITLE = "steps"

    running: reactive[StepStarted | None] = reactive(None, layout=True)
    ended: reactive[tuple[StepFinished, ...]] = reactive((), layout=True)

    def watch_running(self) -> None:
        self._change()

    def watch_ended(self) -> None:
        self._change()

    def _change(self) -> None:
        self.set_class(self.running is None and not self.ended, "-empty")
        self.update_caption()

    def on_mount(self) -> None:
        super().on_mount()
        self._change()

    def update_caption(self) -> None:
        if self.running is not None:
            self.show_look(Look("current", one_line(self.running.step, 30), Tone.INFO))
            return
        failed = [step for step in self.ended if step.outcome is StepOutcome.FAILED]
        word = f"{len(failed)} failed" if failed else "done"
        self.show_look(STEP[StepOutcome.FAILED if failed else StepOutcome.DONE]._replace(word=word))

    def lines(self, width: int) -> Sequence[Line]:
        others = [s for s in self.ended if self.running is None or s.step != self.running.step]
        lines: list[Line] = [self._ended(step, width) for step in others]
        if self.running is not None:
            sign = f"{self.app.glyphs.current} "
            left = [Span(sign, Tone.INFO), Span(one_line(self.running.step, 60))]
            name = crop(left, width - 9, self.app.glyphs.ellipsis)
            lines.append(row(name, [Span("running", Tone.INFO)], width))
        return lines[-STEP_LINES:] or [[Span(" ")]]

    def _ended(self, step: StepFinished, width: int) -> Line:
        look, glyphs = STEP[step.outcome], self.app.glyphs
        is_done = step.outcome is StepOutcome.DONE
        right = [Span(look.word, Tone.MUTED if is_done else look.tone)]
        if step.seconds:
            right.append(Span(took(step.seconds).rjust(7), Tone.MUTED))
        left = [Span(f"{getattr(glyphs, look.glyph)} ", look.tone), Span(one_line(step.step, 60))]
        return row(crop(left, width - width_of(right) - 1, glyphs.ellipsis), right, width)


class ContextGauge(Panel):
    """Shows the share of the context in use, the smart zone, and the threshold of a hand-off."""

    TITLE = "context"

    budget: reactive[ContextBudget] = reactive(ContextBudget())
    smart_zone: reactive[tuple[int, int]] = reactive((40, 60))
    past: reactive[tuple[IterationFinished, ...]] = reactive(())

    def watch_budget(self) -> None:
        self.update_caption()

    def update_caption(self) -> None:
        self.show_look(ZONE[self.budget.zone])

    def lines(self, width: int) -> Sequence[Line]:
        budget = self.budget
        used = f"{tokens(budget.current_usage)} of {tokens(budget.total_capacity)}"
        head = row(
            [Span(f"{budget.percent:.0f} %", Tone.TITLE), Span(f"  {used}", Tone.MUTED)],
            [Span(f"hand-off at {budget.budget_percent} %", Tone.MUTED)],
            width,
        )
        return [head, *context_bar(budget, self.smart_zone, width, self.app.glyphs, self.past)]


MIN_LINES = 3
"""Minimum number of lines of the panel, so that nothing moves when receipts arrive."""


class VerificationPanel(Panel):
    """Shows the checks of the last claim, and how each ended."""

    TITLE = "gate"

    receipts: reactive[tuple[Receipt, ...]] = reactive((), layout=True)
    passed: reactive[bool | None] = reactive(None)
    task_id: reactive[str | None] = reactive(None)
    past: reactive[bool] = reactive(default=False)
    """Whether the claim was for another task than the running one."""

    def watch_passed(self) -> None:
        self.update_caption()

    def watch_task_id(self) -> None:
        self.update_caption()

    def watch_past(self) -> None:
        self.update_caption()

    def update_caption(self) -> None:
        self.show_look(gate_look(self.task_id, passed=self.passed, past=self.past))

    def lines(self, width: int) -> Sequence[Line]:
        shown = [line for receipt in self.receipts for line in self._receipt(receipt, width)]
        if not shown:
            text = "running the checks" if self.task_id else "no claims checked yet"
            shown = [[Span(text, Tone.MUTED)]]
        return [*shown, *([Span(" ")] for _ in range(MIN_LINES - len(shown)))]

    def _receipt(self, receipt: Receipt, width: int) -> list[Line]:
        look = RECEIPT[receipt.status]
        note = "" if receipt.reason else receipt_note(receipt)  # the detail shows the whole reason
        word = note or look.word
        right = [Span(word, Tone.MUTED if receipt.ok else look.tone)]
        if receipt.seconds:
            right.append(Span(took(receipt.seconds).rjust(7), Tone.MUTED))
        glyphs = self.app.glyphs
        texts = wrap(receipt.command, width - 2)
        if len(texts) > MAX_COMMAND_LINES:
            texts = [crop_middle(receipt.command, width - 2, glyphs.ellipsis)]
        signs = [Span(f"{getattr(glyphs, look.glyph)} ", look.tone), *[Span("  ")] * len(texts)]
        lines: list[Line] = [[sign, Span(text)] for sign, text in zip(signs, texts, strict=False)]
        if width_of(lines[-1]) + width_of(right) < width:
            lines[-1] = row(lines[-1], right, width)
        else:
            lines.append(row([], right, width))
        return lines


MAX_COMMAND_LINES = 3
"""Lines of a command in the gate; longer ones are cut in the middle."""


def gate_look(task_id: str | None, *, passed: bool | None, past: bool) -> Look:
    """Return the gate's state, marked as the last one if another task or none runs."""
    last = "last: " if past else ""
    if passed is None:
        checking = Look("verifying", f"checking {task_id}", Tone.INFO)
        return checking if task_id else Look("idle", "no claim yet", Tone.MUTED)
    if passed:
        return Look("ok", f"{last}{task_id or 'claim'} accepted", Tone.OK)
    return Look("failed", f"{last}{task_id or 'claim'} rejected", Tone.BAD)


_FIGURES = 30
"""Cells of name, amount and limit; the bar gets the rest."""


class TaskCost(NamedTuple):
    """The cost of a task, and which task."""

    usd: float
    label: str


class CostPanel(Panel):
    """Shows the costs of iteration, run and project with their limits, the task's cost, and the forecast."""

    TITLE = "cost"

    costs: reactive[CostMeter] = reactive(CostMeter())
    limits: reactive[CostLimits] = reactive(CostLimits())
    share: reactive[TaskCost | None] = reactive(None)
    left: reactive[Forecast | None] = reactive(None)

    def watch_costs(self) -> None:
        self.update_caption()

    def watch_limits(self) -> None:
        self.update_caption()

    def update_caption(self) -> None:
        self.show_look(cost_look(self.costs, self.limits))

    def lines(self, width: int) -> Sequence[Line]:
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
    """Return the cost of the current task over all attempts, or the average cost while none runs."""
    task = view.current_task
    if task is not None:
        now = view.costs.iteration if task.status is TaskStatus.IN_PROGRESS else 0.0
        return TaskCost((task.actual_cost_usd or 0.0) + now, task.id)
    paid = [t for t in view.tasks.values() if t.actual_cost_usd is not None]
    if known := [t for t in paid if t.status is TaskStatus.COMPLETE]:
        return TaskCost(_mean(known), f"average of {len(known):,}")
    return TaskCost(_mean(paid), f"average of {len(paid):,} attempted") if paid else None


def _mean(tasks: Sequence[Task]) -> float:
    return sum(task.actual_cost_usd or 0.0 for task in tasks) / len(tasks)


def task_line(cost: TaskCost | None, width: int, glyphs: Glyphs) -> Line:
    name = Span("task      ", Tone.MUTED)
    if cost is None:
        return [name, Span(" no task has run yet", Tone.MUTED)]
    line = [name, Span(f"{money(cost.usd):>8}"), Span(f" {cost.label}", Tone.MUTED)]
    return crop(line, width, glyphs.ellipsis)


def forecast_line(left: Forecast | None, width: int, glyphs: Glyphs) -> Line:
    """Return the line with the estimated cost and time of the open tasks, and the basis of the estimate."""
    name = Span("to finish ", Tone.MUTED)
    if left is None or not left.open_tasks or not left.finished:
        why = "no plan yet" if left is None else left.basis.partition(",")[0]
        return crop_words([name, Span(f" {why}", Tone.MUTED)], width, glyphs.ellipsis)
    amount = [name, Span(f"{money(left.cost_usd):>8}")]
    time = Span(f" {glyphs.between} {duration(left.seconds)}", Tone.MUTED)
    basis = [Span(f"from {plural(left.finished, 'task')}", Tone.MUTED)]
    fits = width_of([*amount, time, *basis]) < width
    return row([*amount, time] if fits else amount, basis, width, glyphs.ellipsis)


def _share(spent: float, most: float) -> float:
    return spent / most if most else 0.0  # 0 is no limit


def cost_look(costs: CostMeter, limits: CostLimits) -> Look:
    share = max(_share(costs.of(level), limits.of(level)) for level in CostLevel)
    if share >= 1:
        return Look("failed", "limit reached", Tone.BAD)
    return Look("warning", "near a limit", Tone.WARN) if share >= 0.8 else _WITHIN


_WITHIN = Look("ok", "within limits", Tone.OK)


class PreviewPanel(Panel):
    """Shows what is under the cursor of the board or the activity."""

    TITLE = "preview"

    preview: reactive[Preview | None] = reactive(None, layout=True)

    def watch_preview(self, preview: Preview | None) -> None:
        del preview
        self._update_title()

    def on_resize(self) -> None:
        """Crop the title again, because Textual would crop it with a non-ASCII ellipsis."""
        self._update_title()

    def _update_title(self) -> None:
        title = Span(self.preview.title if self.preview else self.TITLE)
        room = max(len(self.TITLE), self.outer_size.width - 6)
        cut = crop(self.adapted([title]), room, self.app.glyphs.ellipsis)
        self.border_title = Content(plain(cut))

    def lines(self, width: int) -> Sequence[Line]:
        return (
            self.preview.lines(width) if self.preview else [[Span("nothing selected", Tone.MUTED)]]
        )


TEXT_WIDTH = 60


class StatusPane(ScrollText):
    """Shows the panels one below the other; can be scrolled, searched and copied as text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "scroll_up", show=False),
        Binding("j", "scroll_down", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
        Binding("ctrl+u", "page_up", show=False),
        Binding("ctrl+d", "page_down", show=False),
    ]

    def text(self) -> str:
        blocks = []
        for panel in self.query(Panel):
            lines = [plain(line).rstrip() for line in panel.shown(TEXT_WIDTH)]
            state = f" ({panel.border_subtitle})" if panel.border_subtitle else ""
            blocks.append("\n".join((f"{panel.TITLE}{state}", *(f"  {text}" for text in lines))))
        return "\n\n".join(blocks) + "\n"


class StatusStrip(StyledWidget):
    """Shows the panels in one line, for when they are not beside the stream; the last are left out first."""

    view: reactive[LoopView] = reactive(LoopView())
    left: reactive[Forecast | None] = reactive(None)

    def on_click(self) -> None:
        self.post_message(LinkLine.Followed("status"))

    def render(self) -> Content:
        if not self.view.is_known:
            return Content("")
        width = max(20, self.content_size.width)
        shown: list[Span] = []
        for field in self._fields():
            longer = [*shown, Span("   "), *field] if shown else field
            if width_of(longer) > width:
                break
            shown = longer
        return self.content([shown])

    def _fields(self) -> list[list[Span]]:
        view = self.view
        spent = f"{money(view.costs.session)}/{limit(view.limits.per_session)}"
        failures = f"{view.breaker.failure_count}/{view.breaker.max_consecutive_failures}"
        gate = gate_look(view.gate_task_id, passed=view.gate_passed, past=view.gate_is_past)
        return [
            self._field("context", f"{view.budget.percent:.0f} %", ZONE[view.budget.zone]),
            self._field("cost", spent, cost_look(view.costs, view.limits), word=False),
            self._field("breaker", failures, breaker_look(view.breaker)),
            self._field("gate", "", gate),
            *self._forecast(),
        ]

    def _forecast(self) -> list[list[Span]]:
        left = self.left
        if left is None or not (left.open_tasks and left.finished):
            return []
        estimate = f"about {money(left.cost_usd)}, {duration(left.seconds)}"
        return [[Span("to finish ", Tone.MUTED), Span(estimate)]]

    def _field(self, name: str, figure: str, look: Look, *, word: bool = True) -> list[Span]:
        glyph = getattr(self.app.glyphs, look.glyph)
        described = f" {look.word}" if word or look.tone is not Tone.OK else ""
        return [
            Span(f"{name} ", Tone.MUTED),
            Span(f"{figure} " if figure else ""),
            Span(f"{glyph}{described}", look.tone),
        ]

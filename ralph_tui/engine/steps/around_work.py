"""Run the steps in order: before and after the work of an iteration, at the end of a run, and after a crash."""

from collections.abc import Callable
from functools import partial

from ralph_tui.config.settings import Settings
from ralph_tui.config.step_settings import AGENT, COMMIT, after_work, before_work
from ralph_tui.domain.errors import ConfigError, ExitCode
from ralph_tui.domain.events import Notice
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import StopMode
from ralph_tui.domain.run.steps import StepLog, StepsLeft, StepWhen
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.step_records import COMMITS_OFF
from ralph_tui.engine.core.outcome import End
from ralph_tui.engine.steps.step_runner import StepRunner, step_types
from ralph_tui.store.project import Documents, Project
from ralph_tui.store.text_files import inside

_NO_END_STEPS = frozenset({LoopStatus.ERROR, LoopStatus.WAITING})
"""Statuses of a run whose end steps do not run, because something must be fixed or decided first."""


def check_steps(project: Project, settings: Settings, log: StepLog) -> None:
    """Refuse steps that would fail only when they start. Blocks while it reads a few files."""
    steps = settings.steps
    step_types(steps)
    off = next((n for n, s in steps.items() if s.type == COMMIT and not s.enabled), None)
    if off is not None and settings.git.commit == "task":
        raise ConfigError(
            f"steps.{off} is disabled, but git.commit is task.",
            f"Set git.commit to off, or steps.{off}.enabled to true.",
        )
    for name, step in steps.items():
        is_done = step.once and log.of(name).done_at is not None
        if step.type != AGENT or not step.enabled or is_done:
            continue
        path = inside(project.root, project.root / step.prompt)
        if path is None or not path.is_file():
            where = "outside the project" if path is None else "not a file in the project"
            raise ConfigError(
                f"steps.{name}: its prompt {step.prompt} is {where}.",
                "Write the instructions there, or remove the step from the settings.",
            )


def due_steps(settings: Settings, names: tuple[str, ...], *whens: StepWhen) -> tuple[str, ...]:
    steps = settings.steps_in_order
    return tuple(
        name
        for name in names
        if steps[name].enabled
        and steps[name].runs in whens
        and (settings.git.commit == "task" or steps[name].type != COMMIT)
    )


def steps_after(settings: Settings) -> tuple[str, ...]:
    whens = (StepWhen.ALWAYS, StepWhen.TASK_COMPLETE, StepWhen.TASK_NOT_COMPLETE)
    return due_steps(settings, after_work(settings.steps_in_order), *whens)


class StepsAroundWork:
    """Runs the steps of one run."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._settings = run.configured
        self._steps = run.configured.steps_in_order
        self._warns_commits_off = bool(self._settings.steps) and self._settings.git.commit == "off"
        self._runner = StepRunner(run, self._steps)

    def with_pending_steps(self, docs: Documents, iteration: int, task_id: str) -> StepLog:
        """Return the log at the start of an iteration's work, with the steps to run after it, even after a crash."""
        following = steps_after(self._settings)
        if not following:
            return docs.steps
        left = StepsLeft(iteration=iteration, task_id=task_id, left=following)
        return docs.steps.model_copy(update={"under_way": left})

    async def before(self, task: Task) -> End | None:
        named = [n for n, s in self._steps.items() if s.type == COMMIT and s.enabled]
        if self._warns_commits_off and named:
            self._warns_commits_off = False
            text = f"The step {named[0]} does nothing: {COMMITS_OFF}."
            self._run.emit(Notice(level="warning", text=text))
        number = self._run.docs.state.iteration_count + 1
        for name in due_steps(self._settings, before_work(self._steps), StepWhen.ALWAYS):
            end = await self._runner.run(name, iteration=number, task=task)
            if end is not None:
                return end
        return None

    async def run_pending(self) -> End | None:
        """Run the pending steps of a finished iteration, if the last run was killed or stopped before them."""
        left = self._run.docs.steps.under_way
        if left is None:
            return None
        task = self._run.docs.plan.task(left.task_id)
        if left.complete is None and (task is None or task.status is not TaskStatus.COMPLETE):
            await self.drop_pending()  # the work was not finished, so no step follows it
            return None
        complete = left.complete is not False
        due = due_steps(self._settings, steps_after(self._settings), *_whens(complete=complete))
        if names := [name for name in left.left if name in due]:
            text = (
                f"The last run ended before these steps of iteration {left.iteration}: "
                f"{', '.join(names)}. Running them now."
            )
            self._run.emit(Notice(text=text))
        return await self.after(complete=complete)

    async def after(self, *, complete: bool) -> End | None:
        """Run the steps after the work of an iteration; return an end if the run may not continue."""
        if self._run.docs.steps.under_way is None:
            return None
        left = await self._change_pending(
            lambda left: left.model_copy(update={"complete": complete})
        )
        changed = await self._run.limits.repository_changed()
        if changed is not None:
            return changed
        while left is not None and left.left:
            name = left.left[0]
            if due_steps(self._settings, (name,), *_whens(complete=complete)):
                task = self._run.docs.plan.task(left.task_id)
                end = await self._runner.run(
                    name, iteration=left.iteration, task=task, stoppable=False
                )
                if end is not None:
                    return end
            left = await self._change_pending(partial(StepsLeft.without, name=name))
        await self.drop_pending()
        return None

    async def drop_pending(self) -> None:
        if self._run.docs.steps.under_way is not None:
            await self._change_pending(lambda _: None)

    async def _change_pending(
        self, change: Callable[[StepsLeft], StepsLeft | None]
    ) -> StepsLeft | None:
        def changed(docs: Documents) -> Documents:
            left = docs.steps.under_way
            update = {"under_way": change(left) if left is not None else None}
            return docs.replacing(steps=docs.steps.model_copy(update=update))

        return (await self._run.project_state.transact(changed)).steps.under_way

    async def at_end(self, end: End) -> End:
        state = self._run.docs.state
        if end.status in _NO_END_STEPS or state.stop is StopMode.NOW:
            return end
        for name in due_steps(self._settings, tuple(self._steps), StepWhen.RUN_END):
            failed = await self._runner.run(name, iteration=state.iteration_count, stoppable=False)
            if failed is not None:
                return failed if end.exit_code is ExitCode.COMPLETE else end
        return end


def _whens(*, complete: bool) -> tuple[StepWhen, StepWhen]:
    return (StepWhen.ALWAYS, StepWhen.TASK_COMPLETE if complete else StepWhen.TASK_NOT_COMPLETE)

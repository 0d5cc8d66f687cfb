"""What a type's code may do to the loop: nothing but fail its step."""

import asyncio
import contextlib
from types import SimpleNamespace
from typing import cast

import pytest

from ralph_tui.config.step_settings import StepSettings
from ralph_tui.domain.errors import ConfigError, StoreError
from ralph_tui.engine.steps import step_runner
from ralph_tui.engine.steps.step_runner import guarded
from ralph_tui.engine.steps.step_type import StepJob, StepResult, done


class Does:
    """A type that does what it is given."""

    def __init__(self, what: object) -> None:
        self._what = what
        self.clings = what == "clings"

    async def run(self, job: StepJob) -> StepResult:
        if isinstance(self._what, BaseException):
            raise self._what
        while self.clings:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)
        return cast("StepResult", self._what)


def job(seconds: float = 600) -> StepJob:
    settings = StepSettings(type="mine", timeout_seconds=seconds)
    return cast("StepJob", SimpleNamespace(name="s", settings=settings, options={}))


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        (ValueError("no\nnumber"), "ValueError: no number"),
        (SystemExit(3), "RuntimeError: it called exit(3)"),
        (ConfigError("It is wrong.", "Correct it."), "It is wrong. Correct it."),
        (KeyError("x"), "KeyError: 'x'"),
        (None, "the step type returned NoneType instead of a StepResult"),
        ("done", "the step type returned str instead of a StepResult"),
    ],
)
async def test_whatever_it_does_is_a_failed_step(what: object, reason: str) -> None:
    result = await guarded(Does(what).run, job())
    assert (result.outcome.value, result.reason) == ("failed", reason)


async def test_what_keeps_ralph_from_working_is_not_the_steps_failure() -> None:
    with pytest.raises(StoreError):
        await guarded(Does(StoreError("The disk is full.")).run, job())
    assert await guarded(Does(done("it")).run, job()) == done("it")


async def test_code_that_ignores_its_end_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_runner, "GRACE_SECONDS", 0.01)
    stubborn = Does("clings")
    try:
        result = await guarded(stubborn.run, job(seconds=0.01))
        assert result.reason.startswith("timed out after ")
        running = asyncio.create_task(guarded(stubborn.run, job()))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    finally:
        stubborn.clings = False
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

"""Run discovery: turn a request into specs, asking the person where necessary."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from ralph_tui.config.settings import Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.specs import Spec, persons_own
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.engine.control.approved_content import specs_content
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End
from ralph_tui.engine.decisions.ask_person import (
    QuestionChannel,
    clear_decision,
    decide,
    still_open,
    waiting_for_answer,
    with_given_answers,
    withdraw_open_questions,
)
from ralph_tui.engine.phases.opening_prompts import prompt_of_discovery
from ralph_tui.engine.phases.phase_session import PhaseSupervisor, Stage, run_session
from ralph_tui.engine.prompts.prompts import bullets
from ralph_tui.store.project import Documents


async def run(stage: Stage) -> End | None:
    """Work until the person approves valid specs; return an end, or None to continue with planning."""
    is_new_request = await _take_request(stage)
    if (end := await _end_if_unanswered(stage, fresh=is_new_request)) is not None:
        return end
    feedback = ""
    is_open = stage.docs.state.specs_before is not None

    while True:
        if is_open or feedback or await missing_specs(stage) is not None:
            end = await stage.run_limits.reason_to_stop() or await _run_session(stage, feedback)
            if end is not None:
                return end
            if feedback:
                await clear_decision(stage.run)
        if await missing_specs(stage) is not None:
            continue
        is_open = False
        await stage.run.project_state.transact(lambda docs: docs.with_state(specs_before=None))
        specs = await asyncio.to_thread(stage.run.project.request_specs)
        counts = ((s.name, len(s.criteria)) for s in specs)
        summary = ", ".join(
            f"{name} ({count} {'criterion' if count == 1 else 'criteria'})"
            for name, count in counts
        )
        decided = await decide(
            stage.run,
            stage.request,
            ApprovalKind.SPECS,
            summary,
            content=partial(specs_content, stage.run.project),
        )
        if isinstance(decided, End):
            return decided
        if decided.approved:
            return None
        feedback = decided.reason or "The person is not satisfied with the specs."


async def _end_if_unanswered(stage: Stage, *, fresh: bool) -> End | None:
    """Return the end of a run if the last run left questions that it cannot ask; otherwise withdraw them."""
    asks = may_ask(stage.request, stage.run.settings)
    if asks and not fresh and not stage.request.interactive:
        now = stage.run.clock()
        docs = await stage.run.project_state.transact(
            lambda docs: with_given_answers(docs, stage.request, stage.phase, now)
        )
        if questions := still_open(docs, stage.phase):
            return waiting_for_answer(questions)
    await withdraw_open_questions(stage.run)
    return None


async def _take_request(stage: Stage) -> bool:
    new, now = is_new(stage.docs, stage.request), stage.run.clock()
    if not new and stage.docs.state.specs_before is None:
        return False
    names = [spec.name for spec in await read_specs(stage)]
    await stage.run.project_state.transact(
        lambda docs: with_specs(
            with_request(docs, stage.request, now) if new else docs, names, begins=new
        )
    )
    return new


def with_specs(docs: Documents, names: Sequence[str], *, begins: bool = False) -> Documents:
    """Return the documents with the spec files that ralph wrote.

    An unfinished discovery stays open until its specs are complete. So the run after an interruption, or after a
    late answer, continues the request and does not take older specs for its result.
    """
    state = docs.state
    own = persons_own(names, state.specs, state.specs_before)
    written = tuple(name for name in names if name not in own)
    return docs.with_state(specs=written, specs_before=own if begins else state.specs_before)


def is_new(docs: Documents, request: RunRequest) -> bool:
    return request.text.strip() not in ("", docs.state.request)


def with_request(docs: Documents, request: RunRequest, now: datetime) -> Documents:
    return docs.with_state(request=request.text.strip(), requested_at=now, approval=None)


async def read_specs(stage: Stage) -> tuple[Spec, ...]:
    return await asyncio.to_thread(stage.run.project.read_specs)


async def missing_specs(stage: Stage) -> str | None:
    folder = stage.run.project.layout.specs.relative_to(stage.run.project.root)
    return spec_problems(stage.docs, await read_specs(stage), folder.as_posix())


def spec_problems(docs: Documents, specs: Sequence[Spec], folder: str) -> str | None:
    """Return what the specs of the request lack, as an instruction to the model; None if all are complete."""
    state = docs.state
    own = persons_own([spec.name for spec in specs], state.specs, state.specs_before)
    specs = [spec for spec in specs if spec.name not in own]
    if not specs:
        return f"There is no spec yet. Write at least one `{folder}/<topic>.md` with the four sections."
    lacking = {s.path: s.problems() for s in specs if s.problems()}
    if not lacking:
        return None
    lines = [f"{name} lacks {'; '.join(parts)}." for name, parts in lacking.items()]
    return "Python checked the specs:\n" + bullets(lines)


async def _run_session(stage: Stage, feedback: str) -> End | None:
    limit = stage.run.settings.phases.discovery.max_questions
    asking = QuestionChannel(stage.run, stage.request, stage.phase, most=limit)
    missing = partial(missing_specs, stage)
    supervisor = PhaseSupervisor(stage.run, missing=missing, handlers={}, asking=asking)
    prompt = await asyncio.to_thread(
        prompt_of_discovery,
        stage.run.project,
        stage.docs,
        feedback=feedback,
        left=asking.left,
        may_ask=may_ask(stage.request, stage.run.settings),
    )
    end = await run_session(
        stage,
        supervisor,
        prompt=prompt,
        missing=missing,
        why=(feedback and "you requested changes") or "writing the specs for the request",
    )
    if asking.unanswered:
        waited = stage.run.settings.limits.ask_timeout_seconds if stage.request.interactive else 0
        return end or waiting_for_answer(asking.unanswered, waited=waited)
    await withdraw_open_questions(stage.run)
    names = [spec.name for spec in await read_specs(stage)]
    await stage.run.project_state.transact(lambda docs: with_specs(docs, names))
    specs = await asyncio.to_thread(stage.run.project.request_specs)
    stage.run.emit(
        ev.SpecsChecked(
            valid=tuple(s.name for s in specs if not s.problems()),
            problems={s.name: s.problems() for s in specs if s.problems()},
        )
    )
    return end


def may_ask(request: RunRequest, settings: Settings) -> bool:
    return not request.no_input and settings.phases.discovery.human_in_loop

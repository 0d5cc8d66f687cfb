"""Run discovery: turn a request into specs, asking the person where necessary."""

import asyncio
from collections.abc import Sequence
from functools import partial

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.specs import Spec, persons_own
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.approved_content import specs_content
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End
from ralph_tui.engine.decisions.ask_person import (
    QuestionChannel,
    clear_decision,
    decide,
    still_open,
    waiting_for_answer,
    withdraw_open_questions,
)
from ralph_tui.engine.phases.opening_prompts import prompt_of_discovery
from ralph_tui.engine.prompts.prompts import bullets
from ralph_tui.engine.session.supervisor import SessionWork
from ralph_tui.engine.session.turns import run_session
from ralph_tui.store.project import Documents


async def discover(run: RunContext) -> End | None:
    """Work until the person approves valid specs; return an end, or None to continue with planning."""
    is_new_request = await _take_request(run)
    if (end := await _end_if_unanswered(run, fresh=is_new_request)) is not None:
        return end
    feedback = ""
    is_open = run.docs.state.specs_before is not None

    while True:
        if is_open or feedback or await missing_specs(run) is not None:
            end = await run.limits.reason_to_stop() or await _run_session(run, feedback)
            if end is not None:
                return end
            if feedback:
                await clear_decision(run)
        if await missing_specs(run) is not None:
            continue
        is_open = False
        await run.project_state.transact(lambda docs: docs.with_state(specs_before=None))
        specs = await asyncio.to_thread(run.project.request_specs)
        counts = ((s.name, len(s.criteria)) for s in specs)
        summary = ", ".join(
            f"{name} ({count} {'criterion' if count == 1 else 'criteria'})"
            for name, count in counts
        )
        decided = await decide(
            run,
            ApprovalKind.SPECS,
            summary,
            content=partial(specs_content, run.project),
        )
        if isinstance(decided, End):
            return decided
        if decided.approved:
            return None
        feedback = decided.reason or "The person is not satisfied with the specs."


async def _end_if_unanswered(run: RunContext, *, fresh: bool) -> End | None:
    """Return the end of a run if the last run left questions that it cannot ask; otherwise withdraw them."""
    if may_ask(run) and not fresh and not run.request.interactive:
        now = run.clock()

        def answer(docs: Documents) -> Documents:
            log = docs.questions
            for asked in still_open(docs, run.phase):
                prepared = run.request.answers.to(asked.question)
                if prepared is not None:
                    log = log.answering(asked.id, prepared, now)
            return docs.replacing(questions=log)

        docs = await run.project_state.transact(answer)
        if questions := still_open(docs, run.phase):
            return waiting_for_answer(questions)
    await withdraw_open_questions(run.project_state)
    return None


async def _take_request(run: RunContext) -> bool:
    new, now = is_new(run.docs, run.request), run.clock()
    if not new and run.docs.state.specs_before is None:
        return False
    names = [spec.name for spec in await read_specs(run)]

    def change(docs: Documents) -> Documents:
        if new:
            text = run.request.text.strip()
            docs = docs.with_state(request=text, requested_at=now, approval=None)
        return _with_specs(docs, names, begins=new)

    await run.project_state.transact(change)
    return new


def _with_specs(docs: Documents, names: Sequence[str], *, begins: bool = False) -> Documents:
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


async def read_specs(run: RunContext) -> tuple[Spec, ...]:
    return await asyncio.to_thread(run.project.read_specs)


async def missing_specs(run: RunContext) -> str | None:
    """Return what the specs of the request lack, as an instruction to the model; None if all are complete."""
    folder = run.project.layout.specs.relative_to(run.project.root).as_posix()
    state, specs = run.docs.state, await read_specs(run)
    own = persons_own([spec.name for spec in specs], state.specs, state.specs_before)
    specs = tuple(spec for spec in specs if spec.name not in own)
    if not specs:
        return f"There is no spec yet. Write at least one `{folder}/<topic>.md` with the four sections."
    lacking = {s.path: s.problems() for s in specs if s.problems()}
    if not lacking:
        return None
    lines = [f"{name} lacks {'; '.join(parts)}." for name, parts in lacking.items()]
    return "Python checked the specs:\n" + bullets(lines)


async def _run_session(run: RunContext, feedback: str) -> End | None:
    asking = QuestionChannel(run)
    prompt = await asyncio.to_thread(
        prompt_of_discovery,
        run.project,
        run.docs,
        feedback=feedback,
        left=asking.left,
        may_ask=may_ask(run),
    )
    why = "you requested changes" if feedback else "writing the specs for the request"
    work = SessionWork(prompt, why, partial(missing_specs, run), handlers={}, asking=asking)
    end = await run_session(run, work)
    if asking.unanswered:
        waited = run.settings.limits.ask_timeout_seconds if run.request.interactive else 0
        return end or waiting_for_answer(asking.unanswered, waited=waited)
    await withdraw_open_questions(run.project_state)
    names = [spec.name for spec in await read_specs(run)]
    await run.project_state.transact(lambda docs: _with_specs(docs, names))
    specs = await asyncio.to_thread(run.project.request_specs)
    run.emit(
        ev.SpecsChecked(
            valid=tuple(s.name for s in specs if not s.problems()),
            problems={s.name: s.problems() for s in specs if s.problems()},
        )
    )
    return end


def may_ask(run: RunContext) -> bool:
    return not run.request.no_input and run.settings.phases.discovery.human_in_loop

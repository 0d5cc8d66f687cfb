"""`ralph answer`, `approve` and `reject`: answer the loop's questions, even while no loop runs."""

import sys
from typing import TYPE_CHECKING, Annotated, Final

from ralph_tui.cli.completion import open_questions
from ralph_tui.cli.console import out, out_json
from ralph_tui.cli.options import AsJson, app, argument, examples, flag, option
from ralph_tui.cli.project_lookup import find_project, open_controls, owner_of

if TYPE_CHECKING:
    from ralph_tui.domain.documents.questions import AskedQuestion
    from ralph_tui.domain.project_state import Approval


BY: Final = "command"


@app.command(
    epilog=examples(
        "ralph answer",
        "ralph answer q-1a2b3c4d-1 2",
        'ralph answer q-1a2b3c4d-1 "Both"',
        'ralph answer q-5e6f7a8b-1 3 "Not against the real server"',
    )
)
def answer(
    question_id: Annotated[
        str,
        argument(
            "ID",
            "The ID of a question. Without one, list the open questions.",
            autocompletion=open_questions,
        ),
    ] = "",
    text: Annotated[
        list[str] | None,
        argument(
            "TEXT",
            "Option numbers or labels, separated by commas, or your own words. `-` reads standard input.",
        ),
    ] = None,
    *,
    decline: Annotated[
        bool, flag("Leave the decision to the model. A permission is denied.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Answer an open question or permission, or list them."""
    from ralph_tui.cli.run.inputs import given_answer, one_text, standard_input
    from ralph_tui.domain.permissions import answer_text

    controls = open_controls()
    questions = controls.open_questions()
    if not question_id:
        _list(questions, as_json=as_json)
        return
    asked = next((q for q in questions if q.id == question_id), None)
    typed = standard_input("answer") if text == ["-"] else one_text(text or ())
    given = given_answer(asked, typed, decline=decline)
    answered = controls.answer(question_id, given)
    result = answer_text(answered)
    if answered.permission is None and not given.declined:
        result = f"answered: {result}"
    out(f"{answered.question.header or answered.question.question}: {result}")


@app.command(epilog=examples("ralph approve"))
def approve() -> None:
    """Approve the specs, the plan or the result."""
    decided = open_controls().decide(approved=True, by=BY)
    out(f"Approved: {_about(decided)}{f' ({decided.summary})' if decided.summary else ''}.")
    _hint_if_idle()


@app.command(epilog=examples('ralph reject --reason "The report lacks a total"'))
def reject(
    reason: Annotated[str, option("TEXT", "What is wrong. The model works on it next.", "-r")] = "",
) -> None:
    """Reject the specs, the plan or the result, and say why."""
    decided = open_controls().decide(approved=False, reason=reason, by=BY)
    out(f"Rejected: {_about(decided)}: {decided.reason}")
    _hint_if_idle()


def _about(decided: "Approval") -> str:
    from ralph_tui.domain.project_state import DECISIONS  # here to keep `ralph --help` fast

    return DECISIONS[decided.kind]


def _hint_if_idle() -> None:
    if owner_of(find_project()) is None:
        out("No loop is running; `ralph run` continues from here.")


def _list(questions: "tuple[AskedQuestion, ...]", *, as_json: bool) -> None:
    if as_json:
        out_json([question.model_dump(mode="json") for question in questions])
        return
    if not questions:
        out("No question is open.")
        return
    from ralph_tui.present.text.glyphs import choose
    from ralph_tui.present.timeline.event_lines import question_lines

    signs = choose(encoding=sys.stdout.encoding)
    for asked in questions:
        out(asked.id)
        for line in question_lines(signs, asked):
            out(f"  {line}")
    out()
    first = questions[0]
    no = "3 WHY denies it" if first.permission else "--decline leaves it to the model"
    out(f"ralph answer {first.id} 1   answers the first; {no}.")

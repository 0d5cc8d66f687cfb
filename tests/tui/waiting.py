"""Questions, approvals and limits for tests of the screen."""

from datetime import timedelta
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Answer, AskedQuestion, Option, Permission, Question
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.permissions import permission_question
from ralph_tui.domain.project_state import ApprovalKind, Phase
from tests.tui import feed

ROOT = Path("/home/dev/slug-demo")

LANGUAGE = Question(
    question="Which language shall the greeter speak?",
    header="Language",
    options=(
        Option(label="English", description="Everybody on the team reads it."),
        Option(label="French", description="What the first customers asked for."),
        Option(label="Both", description="Chosen by the LANG variable; a little more work."),
    ),
)
PARTS = Question(
    question="Which parts does the first version have?",
    header="Scope",
    multi_select=True,
    options=(
        Option(label="Command line", description="greet NAME"),
        Option(label="Web page", description="One form, one answer."),
        Option(label="Library", description="greeter.greet(name)"),
    ),
)
STORE = Question(
    question="How are names stored?",
    header="Storage",
    options=(
        Option(label="JSON", description="One file", preview='{\n  "names": ["Ada"]\n}'),
        Option(label="SQLite", description="One table", preview="CREATE TABLE names (name TEXT);"),
    ),
)


def asked(
    question: Question, number: int = 1, batch: str = "b1", task: str | None = None
) -> AskedQuestion:
    return AskedQuestion(
        id=f"q-{batch}-{number}",
        batch=batch,
        phase=Phase.BUILDING if task else Phase.DISCOVERY,
        task_id=task,
        question=question,
        asked_at=feed.NOW,
    )


def discovery() -> list[ev.Event]:
    return [
        feed.started().model_copy(
            update={"phase": Phase.DISCOVERY, "request": "Greet people by name", "branch": "main"}
        ),
        *feed.recorded("discovery"),
    ]


def asking(*questions: Question, batch: str = "b1") -> list[ev.Event]:
    given = questions or (LANGUAGE,)
    return [
        *discovery(),
        *(ev.QuestionAsked(question=asked(q, n, batch)) for n, q in enumerate(given, 1)),
    ]


PUBLISH = Permission(
    tool="Bash",
    argument='cd dist && uv run pytest -q && npm publish --tag "next" # after the tests',
    asked='cd dist && pytest -q && npm publish --tag "next" # after the tests',
    rule="ask-first",
    reason="safety.ask_commands lists `npm publish`",
    patterns=("npm publish",),
)


def wanting(permission: Permission = PUBLISH, batch: str = "p1") -> AskedQuestion:
    asking = asked(permission_question(permission), batch=batch, task="demo-02")
    return asking.model_copy(update={"permission": permission})


def permitting(permission: Permission = PUBLISH) -> list[ev.Event]:
    return [*feed.failed_gate(), ev.QuestionAsked(question=wanting(permission))]


def answered(question: AskedQuestion, answer: Answer | None = None) -> ev.QuestionAnswered:
    given = answer or Answer(labels=("English",), by="command")
    return ev.QuestionAnswered(question=question.model_copy(update={"answer": given}))


def approving(kind: ApprovalKind, summary: str = "") -> list[ev.Event]:
    start = feed.stopped()[:-1] if kind is ApprovalKind.RECOVERY else [feed.started(), feed.plan()]
    return [*start, ev.ApprovalRequested(kind=kind, summary=summary, seq=900)]


TRY_ONE = (
    "Failures 3/3, refused claims 2/2. Try one more iteration? The loop continues if it completes a task. "
    "Otherwise it asks again. No ends this run, and nothing is lost. Without an answer, ralph runs one "
    "automatically at 2026-03-02 09:31:24 UTC."
)
"""As the loop asks."""


def cooling() -> list[ev.Event]:
    """A run whose breaker opened; it asks, and cools down for half an hour meanwhile."""
    *before, request = approving(ApprovalKind.RECOVERY, TRY_ONE)
    opened = next(e.breaker for e in before if isinstance(e, ev.BreakerChanged))
    cools = opened.cooling(feed.NOW + timedelta(minutes=30))
    return [*before, ev.BreakerChanged(breaker=cools, reason="failures 3/3"), request]


def limited() -> list[ev.Event]:
    return [*feed.failed_gate(), *feed.recorded("limited")]


def empty(root: Path = ROOT, *, takes: bool = True) -> feed.Script:
    """A project without a plan, in which nothing runs."""
    script = feed.Script(root)
    script.takes_requests = takes
    script.idle = [feed.read(), ev.PlanLoaded(tasks=())]
    return script


STOPPED = ev.LoopFinished(
    status=LoopStatus.INTERRUPTED, reason="Somebody stopped the loop.", exit_code=130
)

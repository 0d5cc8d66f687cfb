"""Classify an unsuccessful result (SDK-FACTS section 7): one class, one sentence, one hint."""

import re
from datetime import UTC, datetime

from ralph_tui.agent.tls_check import ADVICE
from ralph_tui.domain.base import Model
from ralph_tui.domain.events import FailureClass
from ralph_tui.domain.labels import FAILURES
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.core.ports import Failure


class ResultFacts(Model):
    """The fields of a result that tell success from failure; neither subtype nor is_error does alone."""

    subtype: str = ""
    is_error: bool = False
    text: str = ""
    api_status: int | None = None
    terminal_reason: str = ""
    stop_reason: str = ""
    assistant_error: str = ""
    rejected_until: int | None = None
    """Epoch seconds from a rate-limit event with status "rejected"."""


_HINTS = {
    FailureClass.AUTHENTICATION: "Set ANTHROPIC_API_KEY, or run `claude` once and log in.",
    FailureClass.BILLING: "Add credit or raise the spend limit of the account, then run again.",
    FailureClass.USAGE_LIMIT: "Run again when the limit has reset.",
    FailureClass.OVERLOADED: "Check the status of the API or of your gateway, then run again. No task lost an attempt.",
    FailureClass.NETWORK: "Check the connection, the proxy and ANTHROPIC_BASE_URL, then run again. No task lost an attempt.",
    FailureClass.BAD_REQUEST: "Check models.primary and models.planning: a wrong model name is the usual cause. The details are in .ralph/logs/claude-cli.log.",
    FailureClass.CONTEXT_FULL: "Shorten AGENTS.md, CLAUDE.md or the task, or use a model with a larger context window.",
    FailureClass.BUDGET: "Raise safety.cost_limits.per_iteration, or split the task.",
    FailureClass.MAX_TURNS: "Raise agent.max_turns, or split the task.",
    FailureClass.REFUSAL: "Reword the task (`ralph edit TASK`) or give it another model (`ralph edit TASK --model NAME`).",
    FailureClass.CLI_DIED: "See .ralph/logs/claude-cli.log, and run `ralph doctor`.",
    FailureClass.CLI_SILENT: "Raise agent.idle_timeout_seconds if the model needs longer.",
    FailureClass.UNKNOWN: "See .ralph/logs/claude-cli.log.",
}

_NOT_TRUSTED = re.compile(
    r"\bcertificate\b|\bCERT_|_CERT\b|UNABLE_TO_(?:VERIFY|GET)", re.IGNORECASE
)
_TRUST = (
    "Set NODE_EXTRA_CA_CERTS to a file with your authority's certificate, or sign in to the network first; "
    "then run again. No task lost an attempt."
)
_PORTAL = (
    "Sign in to the network, or check the proxy and ANTHROPIC_BASE_URL, then run again. "
    "No task lost an attempt."
)

_EXIT_CODE = re.compile(r" \(exit code: -?\d+\)$")
_USAGE_WORDS = re.compile(r"hit your .*limit|usage limit|limit .*resets", re.IGNORECASE)
_BY_ERROR = {
    "authentication_failed": FailureClass.AUTHENTICATION,
    "billing_error": FailureClass.BILLING,
    "rate_limit": FailureClass.USAGE_LIMIT,
    "model_not_found": FailureClass.BAD_REQUEST,
    "invalid_request": FailureClass.BAD_REQUEST,
    "image_error": FailureClass.BAD_REQUEST,
}
_BY_STATUS: dict[int | None, FailureClass] = {
    400: FailureClass.BAD_REQUEST,
    402: FailureClass.BILLING,
    404: FailureClass.BAD_REQUEST,
    407: FailureClass.NETWORK,
    413: FailureClass.BAD_REQUEST,
    511: FailureClass.NETWORK,
}
_NOT_THE_SERVICE = re.compile(
    r"malformed response|intercepting the request|is an HTML page|API Error: 403 Forbidden$"
)
"""Words of something in between, such as a hotel's sign-in page; the API explains its own 403."""
_API_ERROR = "API Error: "
_BY_WORDS = (
    (re.compile(r"credits? (?:ran out|required)", re.IGNORECASE), FailureClass.BILLING),
    (re.compile(r"context window limit"), FailureClass.CONTEXT_FULL),
)
"""What the CLI says without a status and without a class."""
_BY_REASON = {
    "prompt_too_long": FailureClass.CONTEXT_FULL,
    "blocking_limit": FailureClass.CONTEXT_FULL,
}
_BY_SUBTYPE = {
    "error_max_turns": FailureClass.MAX_TURNS,
    "error_max_budget_usd": FailureClass.BUDGET,
}
_SAID = {
    "error_max_turns": "The session reached its maximum number of turns.",
    "error_max_budget_usd": "The session reached its cost limit.",
}
_TEMPORARY = "This is a server-side issue"
"""The beginning of what the CLI appends to every response with a status of 500 or more."""
_TOO_LONG = "The prompt does not fit into the model's context window."
_WITHOUT_WORDS = "Claude Code gave up and did not say why ({})."


def failure(kind: FailureClass, message: str, *, resets_at: datetime | None = None) -> Failure:
    """Return a failure with the hint of its class."""
    return Failure(
        kind=kind,
        message=one_line(message, 300),
        hint=_HINTS.get(kind, ""),
        resets_at=resets_at,
    )


def classify(facts: ResultFacts) -> Failure | None:
    """Return the failure behind a result, or None when the turn ended normally."""
    if facts.subtype in _BY_SUBTYPE:
        return failure(_BY_SUBTYPE[facts.subtype], facts.text or _SAID[facts.subtype])
    if not facts.is_error or facts.terminal_reason.startswith("aborted"):
        return None
    kind = _kind_of_error(facts)
    until = facts.rejected_until
    resets = _moment(until) if until else None
    told = failure(
        kind, _words(kind, facts) or _WITHOUT_WORDS.format(FAILURES[kind]), resets_at=resets
    )
    if kind is not FailureClass.NETWORK:
        return told
    if _NOT_THE_SERVICE.search(facts.text):
        return told.model_copy(update={"message": _answered_instead(facts), "hint": _PORTAL})
    return told.model_copy(update={"hint": _TRUST}) if _NOT_TRUSTED.search(facts.text) else told


def _words(kind: FailureClass, facts: ResultFacts) -> str:
    """Return the CLI's message without the boilerplate of such failures; empty when it says nothing."""
    if kind is FailureClass.CONTEXT_FULL and facts.terminal_reason == "prompt_too_long":
        return _TOO_LONG
    text = facts.text.removeprefix(_API_ERROR)
    if kind is not FailureClass.OVERLOADED or not text:
        return text
    return f"The API is busy: {text.partition(_TEMPORARY)[0].rstrip('. ')}."


def _answered_instead(facts: ResultFacts) -> str:
    """Return the failure for an answer from a sign-in page or a proxy."""
    page = " with an HTML page" if "HTML page" in facts.text else ""
    status = re.search(r"\bHTTP (\d{3})\b|API Error: (\d{3})", facts.text)
    number = f" (HTTP {status[1] or status[2]})" if status else ""
    return f"A proxy or a sign-in page answered in place of the API{page}{number}."


def silence(seconds: float, wrong: str) -> Failure:
    """Return the failure for a silent CLI; `wrong` says what can be seen of its connection."""
    said = f"The CLI said nothing for {seconds:.0f} seconds."
    if not wrong:
        return failure(FailureClass.CLI_SILENT, said)
    lost = failure(FailureClass.NETWORK, f"{said} {wrong}")
    return lost.model_copy(update={"hint": ADVICE})


def _moment(seconds: int) -> datetime | None:
    """Return the time of a timestamp, or None when it is outside the calendar."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _kind_of_error(facts: ResultFacts) -> FailureClass:
    if facts.terminal_reason in _BY_REASON:
        return _BY_REASON[facts.terminal_reason]
    if facts.stop_reason == "refusal":  # the CLI calls it an invalid request
        return FailureClass.REFUSAL
    if facts.rejected_until is not None or _USAGE_WORDS.search(facts.text):
        return FailureClass.USAGE_LIMIT
    if _NOT_THE_SERVICE.search(facts.text):
        return FailureClass.NETWORK
    if facts.assistant_error in _BY_ERROR:
        return _BY_ERROR[facts.assistant_error]
    return _kind_of_status(facts)


def _kind_of_status(facts: ResultFacts) -> FailureClass:
    status = facts.api_status
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status is not None and status >= 500:
        return FailureClass.OVERLOADED
    return _kind_of_words(facts) if status is None else FailureClass.UNKNOWN


def _kind_of_words(facts: ResultFacts) -> FailureClass:
    """Return the class of a failure without a status, which is mostly an incomplete response."""
    for words, kind in _BY_WORDS:
        if words.search(facts.text):
            return kind
    lost = facts.assistant_error == "server_error"
    unclear = facts.assistant_error in ("", "unknown") and facts.text.startswith(_API_ERROR)
    return FailureClass.NETWORK if lost or unclear else FailureClass.UNKNOWN


def why_lost(error: Exception) -> str:
    """Say in a few words how the CLI ended.

    The SDK repeats the exit status, and omits it when it was writing as the process ended.
    """
    words = one_line(str(error).partition("\nError output:")[0], 300)
    if "write to process" in words or "write to terminated process" in words:
        return "the process ended"
    return _EXIT_CODE.sub("", words).rstrip(".") or type(error).__name__

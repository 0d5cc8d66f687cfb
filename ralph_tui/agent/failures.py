"""Classifies failed results and gives each a message and a hint."""

import re
from contextlib import suppress
from datetime import UTC, datetime

from ralph_tui.agent.address_check import ADVICE
from ralph_tui.domain.base import Model
from ralph_tui.domain.formatting import FAILURES
from ralph_tui.domain.outcomes import FailureClass
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.core.ports import Failure


class ResultFacts(Model):
    """The fields of a result that distinguish failures; subtype or is_error alone is not enough."""

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
    FailureClass.AUTHENTICATION: "Set ANTHROPIC_API_KEY, or run `claude` and log in.",
    FailureClass.BILLING: "Add credit or raise the spend limit of the account, then run again.",
    FailureClass.USAGE_LIMIT: "Run again after the limit resets.",
    FailureClass.OVERLOADED: "Check the status of the API or your gateway, then run again. No attempt was counted.",
    FailureClass.NETWORK: "Check the connection, the proxy and ANTHROPIC_BASE_URL, then run again. No attempt was counted.",
    FailureClass.BAD_REQUEST: "Check the model names in models.primary and models.planning. Details are in .ralph/logs/claude-cli.log.",
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
_TRUST_HINT = (
    "Set NODE_EXTRA_CA_CERTS to a file with your authority's certificate, or sign in to the network first. "
    "Then run again. No attempt was counted."
)
_PORTAL_HINT = (
    "Sign in to the network, or check the proxy and ANTHROPIC_BASE_URL, then run again. "
    "No attempt was counted."
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
_PROXY_ANSWER = re.compile(
    r"malformed response|intercepting the request|is an HTML page|API Error: 403 Forbidden$"
)
"""Matches an answer from a proxy or a sign-in page rather than the API, which explains its own 403."""
_API_ERROR = "API Error: "
_BY_MESSAGE = (
    (re.compile(r"credits? (?:ran out|required)", re.IGNORECASE), FailureClass.BILLING),
    (re.compile(r"context window limit"), FailureClass.CONTEXT_FULL),
)
"""Messages of the CLI without a status or an error class."""
_BY_SUBTYPE = {
    "error_max_turns": (FailureClass.MAX_TURNS, "The session reached its maximum number of turns."),
    "error_max_budget_usd": (FailureClass.BUDGET, "The session reached its cost limit."),
}
_TEMPORARY = "This is a server-side issue"
"""The beginning of the text that the CLI appends to every error with a status of 500 or more."""
_TOO_LONG = "The prompt does not fit into the model's context window."
_NO_REASON = "Claude Code stopped without giving a reason ({})."


def failure(kind: FailureClass, message: str, *, resets_at: datetime | None = None) -> Failure:
    return Failure(
        kind=kind,
        message=one_line(message, 300),
        hint=_HINTS.get(kind, ""),
        resets_at=resets_at,
    )


def classify(facts: ResultFacts) -> Failure | None:
    if facts.subtype in _BY_SUBTYPE:
        kind, message = _BY_SUBTYPE[facts.subtype]
        return failure(kind, facts.text or message)
    if not facts.is_error or facts.terminal_reason.startswith("aborted"):
        return None
    kind = _kind_of_error(facts)
    resets = None
    if facts.rejected_until:
        with suppress(ValueError, OverflowError, OSError):
            resets = datetime.fromtimestamp(facts.rejected_until, UTC)
    found = failure(
        kind, _cli_message(kind, facts) or _NO_REASON.format(FAILURES[kind]), resets_at=resets
    ).model_copy(update={"status": facts.api_status})
    if kind is not FailureClass.NETWORK:
        return found
    if _PROXY_ANSWER.search(facts.text):
        page = " with an HTML page" if "HTML page" in facts.text else ""
        status = re.search(r"\bHTTP (\d{3})\b|API Error: (\d{3})", facts.text)
        number = f" (HTTP {status[1] or status[2]})" if status else ""
        message = f"A proxy or sign-in page answered instead of the API{page}{number}."
        return found.model_copy(update={"message": message, "hint": _PORTAL_HINT})
    return (
        found.model_copy(update={"hint": _TRUST_HINT}) if _NOT_TRUSTED.search(facts.text) else found
    )


def _cli_message(kind: FailureClass, facts: ResultFacts) -> str:
    if kind is FailureClass.CONTEXT_FULL and facts.terminal_reason == "prompt_too_long":
        return _TOO_LONG
    text = facts.text.removeprefix(_API_ERROR)
    if kind is not FailureClass.OVERLOADED or not text:
        return text
    return f"The API is busy: {text.partition(_TEMPORARY)[0].rstrip('. ')}."


def silence_failure(seconds: float, problem: str) -> Failure:
    """Return the failure for a silent CLI; `problem` describes what is wrong with its connection, if any."""
    message = f"No output from the Claude Code CLI for {seconds:.0f} seconds."
    if not problem:
        return failure(FailureClass.CLI_SILENT, message)
    lost = failure(FailureClass.NETWORK, f"{message} {problem}")
    return lost.model_copy(update={"hint": ADVICE})


def _kind_of_error(facts: ResultFacts) -> FailureClass:
    if facts.terminal_reason in ("prompt_too_long", "blocking_limit"):
        return FailureClass.CONTEXT_FULL
    if facts.stop_reason == "refusal":  # the CLI calls it an invalid request
        return FailureClass.REFUSAL
    if facts.rejected_until is not None or _USAGE_WORDS.search(facts.text):
        return FailureClass.USAGE_LIMIT
    if _PROXY_ANSWER.search(facts.text):
        return FailureClass.NETWORK
    if facts.assistant_error in _BY_ERROR:
        return _BY_ERROR[facts.assistant_error]
    status = facts.api_status
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status is not None and status >= 500:
        return FailureClass.OVERLOADED
    return _kind_of_message(facts) if status is None else FailureClass.UNKNOWN


def _kind_of_message(facts: ResultFacts) -> FailureClass:
    for words, kind in _BY_MESSAGE:
        if words.search(facts.text):
            return kind
    lost = facts.assistant_error == "server_error"
    unclear = facts.assistant_error in ("", "unknown") and facts.text.startswith(_API_ERROR)
    return FailureClass.NETWORK if lost or unclear else FailureClass.UNKNOWN


def exit_reason(error: Exception) -> str:
    words = one_line(str(error).partition("\nError output:")[0], 300)
    if "write to process" in words or "write to terminated process" in words:
        return "the process ended"
    return _EXIT_CODE.sub("", words).rstrip(".") or type(error).__name__

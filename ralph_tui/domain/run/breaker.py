"""The circuit breaker: stops the loop when failures would repeat with any task.

The failures of one task only use up that task's attempts. The breaker counts how many tasks fail in a row, and
opens for problems that a single task cannot explain: denials, output collapse, an error across tasks, cost.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from ralph_tui.domain.base import Amount, Count, Model, Record, Timestamp
from ralph_tui.domain.costs import Money, plus
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.sanitize import inert, one_line

_SHOWN = 100
"""Characters of the failure that are readable in a fingerprint."""

_MOST_LINES = 12

_VARYING: tuple[tuple[str, str], ...] = (
    (r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)?\b", "<time>"),
    (r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
    (r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b", "<id>"),
    (r"\b0x[0-9a-fA-F]+\b", "<id>"),
    # A path, with the line and the column behind it; a lone slash between words is none.
    (r"(?:[A-Za-z]:)?(?:[\w.~@%+-]{0,128}[\\/])+[\w.@%+-]+(?::\d+)*(?:\(\d+(?:,\d+)?\))?", "<path>"),
    (r"\b[\w-]{1,128}\.(?:py|pyi|js|jsx|ts|tsx|mjs|go|rs|rb|c|h|cc|cpp|java|kt|cs|php|sh)(?::\d+)+", "<path>"),
    (r"\b(?:tmp|temp)[-_]?[A-Za-z0-9_]{6,}\b", "<temp>"),
    (r"\b(?:req|msg|toolu)_[A-Za-z0-9]{8,}\b", "<id>"),
    (r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}\b", "<id>"),
    (r"(?<![\w.])[-+]?\d[\d_,]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?:\s?(?:ns|us|µs|ms|s|sec|seconds?|min|minutes?|h|kB|KB|MB|GB|KiB|MiB|GiB|bytes|%))?(?![\w])", "<n>"),
)  # fmt: skip
"""Patterns of what varies, with their placeholders, in the order in which they are applied."""

_SAYS_WHY = re.compile(
    r"^E\s{2,}\S"  # pytest
    r"|\b\w*(?:Error|Exception|Panic|Failure)\b\s*(?::|$)"
    r"|\b(?:error|fatal|panic|panicked|exception)\b\s*(?:\[\w+\])?\s*[:!]"
    r"|\berror TS\d+|\bassertion\b.*\bfailed\b|\bnot found\b|\bNo such file\b|\bcannot\b",
    re.IGNORECASE,
)
"""Matches a line of output that says what went wrong, in the words of common tools."""


def steady(text: str, *, but: str = "") -> str:
    """Return the text on one line, with placeholders, except `but`, for everything that varies from run to run."""
    line = inert(text)
    for form, word in _VARYING:
        line = line if word == but else re.sub(form, word, line)
    return " ".join(line.split())


def steady_name(name: str) -> str:
    found = re.sub(r"^(?:[A-Za-z]:)?[\\/](?:[^\\/:]*[\\/])*", "", inert(name))
    return " ".join(re.sub(r"\b0x[0-9a-fA-F]+\b", "<id>", found).split())


def reasons(output: str) -> tuple[str, ...]:
    """Return the distinct lines of a command's output that say what went wrong, with placeholders.

    If there is no such line, the last three lines are used.
    """
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if _SAYS_WHY.search(line)]
    found = dict.fromkeys(steady(line) for line in (errors or lines[-3:]))
    return tuple(sorted(line for line in found if line)[:_MOST_LINES])


def telling_line(output: str) -> str:
    """Return the last line that says what went wrong, or else the last one that is not indented, as details are."""
    lines = [line for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if _SAYS_WHY.search(line) and len(line.split()) > 2]
    plain = [line for line in lines if not line[0].isspace()]
    return (errors or plain or lines or [""])[-1].strip()


def fingerprint_of(parts: Iterable[str]) -> str:
    """Return the fingerprint of a failure: its first words for a person, and a hash of all parts."""
    given = [part for part in parts if part]
    if not given:
        return ""
    digest = hashlib.sha256("\0".join(given).encode("utf-8", "replace")).hexdigest()[:12]
    return f"{one_line(given[0], _SHOWN)} #{digest}"


def fingerprint(message: str) -> str:
    return fingerprint_of([steady(message)])


MAX_STATES = 12
"""How many file states are kept, which is the longest oscillation that can be detected."""


class Left(Record):
    """The state of the files after an iteration."""

    iteration: Count
    files: str
    """A hash of the contents of all files."""


class Files(Model):
    """The hashes of all files before and after an iteration; empty if unknown."""

    iteration: Count = 0
    before: str = ""
    after: str = ""


def restored_iteration(left: Sequence[Left], now: Files) -> int | None:
    """Return the earlier iteration whose file state the last iteration restored, or None.

    An iteration that changed nothing restored nothing.
    """
    if not now.after or now.after == now.before:
        return None
    return next((state.iteration for state in reversed(left) if state.files == now.after), None)


def seen(left: Sequence[Left], now: Files) -> str:
    """Return why the files show no progress, or an empty string if they do."""
    if now.after and now.after == now.before:
        return "no file changed"
    number = restored_iteration(left, now)
    if number is None:
        return ""
    return f"the files are as they were {f'after iteration {number}' if number else 'at the start'}"


def with_state(left: Sequence[Left], now: Files) -> tuple[Left, ...]:
    """Return the kept states with the one after this iteration; the first time also the one before it."""
    if not now.after:
        return tuple(left)
    first = () if left else (Left(iteration=max(0, now.iteration - 1), files=now.before),)
    return (*left, *first, Left(iteration=now.iteration, files=now.after))[-MAX_STATES:]


KEPT_EVIDENCE = 5
"""How many pieces of evidence each signal keeps, the latest ones."""

COLLAPSE = 0.30
"""Output below this share of the average counts as collapsed (a drop by 70 %)."""

NO_TASK = ""
"""The task of a failure that no task is to blame for, such as a CLI that died."""


class BreakerState(StrEnum):
    """Closed allows work, open stops it, half-open allows one trial iteration."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class IterationVerdict(Model):
    """The result of an iteration, as far as the breaker needs it."""

    is_failure: bool
    task: str = NO_TASK
    """The task that is responsible; empty if the result says nothing about the task."""
    tasks_completed: Count = 0
    cost_usd: Money = 0.0
    evidence: str = ""
    error: str = ""
    """The fingerprint of the failure, without numbers and paths, so that equal failures compare equal."""
    denied: str = ""
    """The last command that was denied; empty if none was. Repetitions of the same command count."""
    output_tokens: Count | None = None
    """None outside of building, where iterations are too different for an average."""
    tests_only: bool = False
    """Whether the iteration ran tests and changed nothing but tests."""
    refused_claim: bool = False
    """Whether the agent claimed to be done and no gate passed."""
    files: Files = Files()
    """The project's files before and after the iteration."""


class Kind(NamedTuple):
    """What a signal counts: the fields of `CircuitBreaker` with the count and the threshold, and the cause in words."""

    counter: str
    threshold: str
    cause: str
    cause_of_one: str = ""
    """The cause if a single task is responsible; empty if the signal is never blamed on one."""
    per_task: bool = False
    """Whether tasks are counted, however often each of them fails, and not iterations."""


_KINDS: Mapping[str, Kind] = {
    "failures": Kind(
        "failure_count",
        "max_consecutive_failures",
        "{count:g} failure{s} in a row",
        per_task=True,
    ),
    "stagnation": Kind(
        "stagnation_count",
        "max_stagnation_iterations",
        "{count:g} iteration{s} in a row finished no task",
        "{count:g} iteration{s} did not finish it",
    ),
    "same error": Kind(
        "same_error_count",
        "max_same_error",
        "{count:g} iteration{s} failed in the same way",
        "it failed {count:g} time{s} in the same way",
    ),
    "denials": Kind(
        "denied_count",
        "max_denied",
        "{count:g} iteration{s} were denied the same command",
        "it was denied the same command {count:g} time{s}",
    ),
    "output collapse": Kind(
        "collapse_count",
        "max_collapses",
        *2 * ("the output of {count:g} iteration{s} was far below the usual",),
    ),
    "tests only": Kind(
        "tests_only_count",
        "max_tests_only",
        *2 * ("{count:g} iteration{s} only ran or wrote tests",),
    ),
    "refused claims": Kind(
        "refused_claims_count",
        "max_refused_claims",
        "the checks rejected {count:g} claim{s} in a row",
        per_task=True,
    ),
    "cost": Kind("total_cost", "max_cost_usd", "the project cost ${count:.2f} of ${threshold:.2f}"),
}


class Signal(Model):
    """One counter with its threshold and its evidence."""

    name: str
    count: float
    threshold: float
    evidence: tuple[str, ...] = ()

    @property
    def reached(self) -> bool:
        return 0 < self.threshold <= self.count

    @property
    def cause(self) -> str:
        return self._told(_KINDS[self.name].cause, *self.evidence[-1:])

    @property
    def cause_of_one(self) -> str:
        last = (text.partition(": ")[2] for text in self.evidence[-1:])
        return self._told(_KINDS[self.name].cause_of_one, *filter(None, last))

    def _told(self, words: str, *last: str) -> str:
        plural = "" if self.count == 1 else "s"
        text = words.format(count=self.count, threshold=self.threshold, s=plural)
        return "; the last: ".join((text, *last))


class CircuitBreaker(Record):
    """Counters and thresholds, `.ralph/circuit_breaker.json`; a threshold of 0 is off."""

    state: BreakerState = BreakerState.CLOSED
    half_open_at: Timestamp | None = None
    """When the open breaker allows one iteration; None if only a person can reset it."""
    failure_count: Count = 0
    stagnation_count: Count = 0
    same_error_count: Count = 0
    denied_count: Count = 0
    collapse_count: Count = 0
    tests_only_count: Count = 0
    refused_claims_count: Count = 0
    total_cost: Money = 0.0
    max_consecutive_failures: Count = 3
    max_stagnation_iterations: Count = 5
    max_same_error: Count = 5
    max_denied: Count = 5
    max_collapses: Count = 3
    max_tests_only: Count = 3
    max_refused_claims: Count = 3
    max_cost_usd: Money = 200.0
    last_error: str = ""
    last_denied: str = ""
    usual_output: Amount = 0.0
    """The moving average of output tokens per iteration."""
    evidence: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    blamed: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """The tasks responsible for each signal's count, including `NO_TASK`."""
    opened_by: str = ""
    """Why the breaker opened, as a clause."""
    reset_reason: str = ""
    left: tuple[Left, ...] = ()
    """The states of the files after the last iterations, to detect oscillation."""

    def signals(self) -> tuple[Signal, ...]:
        """Return every counter with its threshold and evidence."""
        return tuple(
            Signal(
                name=name,
                count=getattr(self, kind.counter),
                threshold=getattr(self, kind.threshold),
                evidence=self.evidence.get(name, ()),
            )
            for name, kind in _KINDS.items()
        )

    def record_iteration(self, verdict: IterationVerdict) -> "CircuitBreaker":
        """Return a copy with one more iteration counted, open if a threshold is reached or the trial iteration failed."""
        progress, task = verdict.tasks_completed > 0, verdict.task
        output, least = verdict.output_tokens, COLLAPSE * self.usual_output
        collapsed = output is not None and output < least
        happened = {
            "failures": verdict.is_failure,
            # Undoing the work of earlier iterations is no progress, even if the task's checks pass.
            "stagnation": not progress or restored_iteration(self.left, verdict.files) is not None,
            "same error": bool(verdict.error),
            # A habit such as `git commit` at the end of each task costs nothing after progress.
            "denials": bool(verdict.denied) and not progress,
            "output collapse": collapsed and not progress,
            "tests only": verdict.tests_only and not progress,
            "refused claims": verdict.refused_claim,
        }
        differs = {
            "same error": verdict.error != self.last_error,
            "denials": verdict.denied != self.last_denied,
        }
        counts = {_KINDS[name].counter: 0 for name in happened}
        evidence: dict[str, tuple[str, ...]] = {}
        blamed: dict[str, tuple[str, ...]] = {}
        for name in filter(happened.get, happened):
            kind = _KINDS[name]
            count = 0 if differs.get(name) else getattr(self, kind.counter)
            known = self.blamed.get(name, ()) if count else ()
            told = self.evidence.get(name, ()) if count else ()
            again = kind.per_task and task != NO_TASK and task in known
            # The task's history has its earlier failures.
            kept = told[:-1] if again else told
            counts[kind.counter] = count if again else count + 1
            blamed[name] = known if task in known else (*known, task)
            evidence[name] = (*kept, self._evidence_of(name, verdict))[-KEPT_EVIDENCE:]
        usual = self.usual_output
        if output is not None and not collapsed:
            usual = (2 * (usual or output) + output) / 3
        counted = self.model_copy(
            update={
                **counts,
                "last_error": verdict.error,
                "last_denied": "" if progress else verdict.denied,
                "usual_output": usual,
                "evidence": evidence,
                "blamed": blamed,
                "total_cost": plus(self.total_cost, verdict.cost_usd),
                "left": with_state(self.left, verdict.files),
            }
        )
        if (signal := counted.tripped()) is not None:
            return counted.opened(signal.cause)
        if self.state is BreakerState.HALF_OPEN and (verdict.is_failure or not progress):
            return counted.opened(f"the trial iteration failed as well: {verdict.evidence}")
        closed = {"state": BreakerState.CLOSED, "half_open_at": None, "opened_by": ""}
        return counted.model_copy(update=closed)

    def opened(self, cause: str) -> "CircuitBreaker":
        update = {"state": BreakerState.OPEN, "half_open_at": None, "opened_by": cause}
        return self.model_copy(update=update)

    def _blames_one_task(self, signal: Signal) -> bool:
        blamed = self.blamed.get(signal.name, ())
        return len(blamed) == 1 and NO_TASK not in blamed and bool(_KINDS[signal.name].cause_of_one)

    def task_signal(self) -> Signal | None:
        """Return the first signal that reached its threshold because of a single task, or None."""
        return next((s for s in self.signals() if s.reached and self._blames_one_task(s)), None)

    def without_blocked(self) -> "CircuitBreaker":
        tasks = len(self.blamed.get("stagnation", ()))
        return self.model_copy(update={"stagnation_count": min(self.stagnation_count, tasks)})

    def _evidence_of(self, name: str, verdict: IterationVerdict) -> str:
        details = {
            "denials": f"denied: {verdict.denied}",
            "output collapse": f"{verdict.output_tokens} output tokens, usual {self.usual_output:.0f}",
            "stagnation": seen(self.left, verdict.files),
        }
        return f"{verdict.evidence} ({details[name]})" if details.get(name) else verdict.evidence

    def tripped(self) -> Signal | None:
        return next((s for s in self.signals() if s.reached and not self._blames_one_task(s)), None)

    @property
    def is_spent(self) -> bool:
        return 0 < self.max_cost_usd <= self.total_cost

    @property
    def is_cooling(self) -> bool:
        return self.state is BreakerState.OPEN and self.half_open_at is not None

    def cooling(self, until: datetime | None) -> "CircuitBreaker":
        return self.model_copy(update={"half_open_at": until})

    def half_open(self) -> "CircuitBreaker":
        return self._cleared(BreakerState.HALF_OPEN)

    def reset(self, reason: str) -> "CircuitBreaker":
        cleared = self._cleared(BreakerState.CLOSED)
        return cleared.model_copy(update={"evidence": {}, "reset_reason": reason, "left": ()})

    def _cleared(self, state: BreakerState) -> "CircuitBreaker":
        counters = {n: 0 for n in CircuitBreaker.model_fields if n.endswith("_count")}
        return self.model_copy(
            update={
                **counters,
                "state": state,
                "half_open_at": None,
                "blamed": {},
                "opened_by": "",
                "last_error": "",
                "last_denied": "",
            }
        )


REGENERATE_BELOW = 0.5
"""A plan without progress is remade if less than this share of it is complete. Later a person decides."""


def should_remake(plan: ImplementationPlan) -> bool:
    return plan.completion_percentage < REGENERATE_BELOW

"""Reduce a failure to a fingerprint that stays the same when the failure repeats.

Paths, line numbers, times, sizes and ids vary between runs of the same failure, so placeholders replace them.
Test names are kept, because `test_1` and `test_2` are different failures.
"""

import hashlib
import re
from collections.abc import Iterable

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


def fingerprint_of(parts: Iterable[str]) -> str:
    """Return the fingerprint of a failure: its first words for a person, and a hash of all parts."""
    given = [part for part in parts if part]
    if not given:
        return ""
    digest = hashlib.sha256("\0".join(given).encode("utf-8", "replace")).hexdigest()[:12]
    return f"{one_line(given[0], _SHOWN)} #{digest}"


def fingerprint(message: str) -> str:
    return fingerprint_of([steady(message)])

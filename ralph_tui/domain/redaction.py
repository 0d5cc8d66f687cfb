"""Recognizes keys, tokens and passwords, and takes them out of a text.

A secret is recognized by its form wherever it comes from, and by its value when it was in the environment
under a name that says it is secret; those values are registered once, at the start.
"""

import re
from collections.abc import Iterable, Mapping

REDACTED = "[redacted]"

MIN_VALUE = 8
"""Shorter values are words that would be taken out of ordinary text."""

_WORD = re.compile(r"[a-z]{,15}|[A-Z][a-z]{,14}|\d{,11}")
"""So are `postgres` and `password`, which people do set as passwords of a test database."""

# What must be in the text for a form to be worth looking for: finding it costs a hundredth.
_FORMS: tuple[tuple[str, str], ...] = (
    ("sk-", r"\bsk-[A-Za-z0-9_-]{16,}"),
    *((f"gh{kind}_", rf"\bgh{kind}_[A-Za-z0-9]{{20,}}") for kind in "pousr"),
    ("github_pat_", r"\bgithub_pat_\w{20,}"),
    ("glpat-", r"\bglpat-[\w-]{16,}"),
    ("xox", r"\bxox[abeoprs]-[\w-]{10,}"),
    ("AKIA", r"\bAKIA[A-Z0-9]{16}\b"),
    ("ASIA", r"\bASIA[A-Z0-9]{16}\b"),
    ("eyJ", r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    ("earer", r"(?<=[Bb]earer )[\w.~+/-]{8,}=*"),
    ("uthorization", r"(?<=uthorization: )(?:Basic |Token |token )[\w.~+/-]{8,}=*"),
    ("pi-key", r"(?<=pi-key: )[\w.~+/-]{8,}=*"),
    ("pi-Key", r"(?<=pi-Key: )[\w.~+/-]{8,}=*"),
    ("://", r"(?<=://)[^\s/:@\"'\\]*:[^\s/@\"'\\]+(?=@)"),
    (
        "-----BEGIN",
        r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    ),
)

_KEYS = ("sk-", "gh", "github_pat_", "glpat-", "xox", "AKIA", "ASIA", "-----BEGIN")
"""How the forms begin that only a key has; the others also stand in examples and documents."""

SHORTEST = 15
"""What is shorter holds no key of these forms, only perhaps a password in an address; most cells are."""

# Compiled when first used: a command that only looks has no use for these two.
_NAME = (
    r".*(?:(?:^|_)(?:KEY|PASS|PWD|AUTH)|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|APIKEY)"
    r"|.*(?:^|_)(?:SECRET|PASSWORD|API_KEY|PRIVATE_KEY)_.*"
)
_DIRECTORIES = frozenset({"PWD", "OLDPWD"})

_hidden: list[str] = []


def is_secret_name(name: str) -> bool:
    """Return whether an environment variable says by its name that its value is secret."""
    return bool(re.fullmatch(_NAME, name, re.IGNORECASE)) and name.upper() not in _DIRECTORIES


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values that must not be shown."""
    stripped = (value.strip() for name, value in environment.items() if is_secret_name(name))
    return tuple(v for v in stripped if len(v) >= MIN_VALUE and not _WORD.fullmatch(v))


def hide(values: Iterable[str]) -> None:
    """Have `redact` remove these values from now on, for the whole process."""
    _hidden[:] = sorted({*_hidden, *values}, key=len, reverse=True)  # one may be part of another


_LAST = (
    r"(?:-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----END [A-Z ]*PRIVATE KEY-----).)*"
    r"|-----[A-Z -]*"
    r"|(?:[Bb]earer|uthorization:|pi-[Kk]ey:)(?:\s+(?:Basic|Token|token|Bearer))?\s*\S*|\S+)\Z"
)
"""What may be a part of a secret at the end of a text: its last word, with what announces one."""


def unfinished(text: str) -> int:
    """Return the position from which a text may hold the start of a secret that continues in the next piece."""
    match = re.search(_LAST, text, re.DOTALL)
    return match.start() if match else len(text)


def holds_key(text: str) -> bool:
    """Return whether a text holds the value of a secret variable, or what only a key looks like."""
    if any(value in text for value in _hidden):
        return True
    forms = ((needed, form) for needed, form in _FORMS if needed.startswith(_KEYS))
    return any(needed in text and re.search(form, text) for needed, form in forms)


def redact(text: str) -> str:
    """Return the text without keys, tokens and passwords."""
    for value in _hidden:
        if value in text:
            text = text.replace(value, REDACTED)
    if len(text) < SHORTEST and "://" not in text:
        return text
    for needed, form in _FORMS:
        if needed in text:
            text = re.sub(form, REDACTED, text)  # compiled then, and kept by `re`
    return text

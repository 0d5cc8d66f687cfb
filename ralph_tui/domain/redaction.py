"""Find keys, tokens and passwords in text, and redact them.

A secret is recognized by its form, or by its value if an environment variable with a telling name such as
`API_TOKEN` holds that value. Those values are registered once, at startup.
"""

import re
from collections.abc import Iterable, Mapping

REDACTED = "[redacted]"

MIN_VALUE = 8
"""Shorter values are not redacted, because they also occur in ordinary text."""

_WORD = re.compile(r"[a-z]{,15}|[A-Z][a-z]{,14}|\d{,11}")
"""Plain words and numbers are not redacted either, such as `postgres` as the password of a test database."""

# Each form has a literal that its text must contain. Searching for the literal costs a hundredth of the regular expression.
_FORMS: tuple[tuple[str, str], ...] = (
    ("sk-", r"\bsk-[A-Za-z0-9_-]{16,}"),
    *((f"gh{kind}_", rf"\bgh{kind}_[A-Za-z0-9]{{20,}}") for kind in "pousr"),
    ("github_pat_", r"\bgithub_pat_\w{20,}"),
    ("glpat-", r"\bglpat-[\w-]{16,}"),
    ("xox", r"\bxox[abeoprs]-[\w-]{10,}"),
    ("AKIA", r"\bAKIA[A-Z0-9]{16}\b"),
    ("ASIA", r"\bASIA[A-Z0-9]{16}\b"),
    # A run of beginnings is read only once, so that hostile text takes linear time. No real header has `-eyJ`.
    ("eyJ", r"\beyJ(?:(?!-eyJ)[\w-]){8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
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
"""The literals of forms that are certainly keys; the other forms also occur in examples and documentation."""

MIN_KEY_TEXT = 15
"""A shorter text cannot contain a key of these forms, only a password in a URL. Most table cells are shorter."""

# Compiled at first use, because read-only commands do not need these two.
_NAME = (
    r".*(?:(?:^|_)(?:KEY|PASS|PWD|AUTH)|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|APIKEY)"
    r"|.*(?:^|_)(?:SECRET|PASSWORD|API_KEY|PRIVATE_KEY)_.*"
)
_DIRECTORIES = frozenset({"PWD", "OLDPWD"})

_hidden: list[str] = []


def is_secret_name(name: str) -> bool:
    return bool(re.fullmatch(_NAME, name, re.IGNORECASE)) and name.upper() not in _DIRECTORIES


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    stripped = (value.strip() for name, value in environment.items() if is_secret_name(name))
    return tuple(v for v in stripped if len(v) >= MIN_VALUE and not _WORD.fullmatch(v))


def hide(values: Iterable[str]) -> None:
    _hidden[:] = sorted({*_hidden, *values}, key=len, reverse=True)  # one may contain another


_LAST = (
    r"(?:-----BEGIN [A-Z ]*PRIVATE KEY-----(?:(?!-----END [A-Z ]*PRIVATE KEY-----).)*"
    r"|-----[A-Z -]*"
    r"|(?:[Bb]earer|uthorization:|pi-[Kk]ey:)(?:\s+(?:Basic|Token|token|Bearer))?\s*\S*|(?<!\S)\S+)\Z"
)
"""A possible incomplete secret at the end of a text: the last word, with an introduction such as `Bearer`."""


def unfinished(text: str) -> int:
    match = re.search(_LAST, text, re.DOTALL)
    return match.start() if match else len(text)


def contains_key(text: str) -> bool:
    """Return whether a text contains a registered secret value or an unmistakable key."""
    if any(value in text for value in _hidden):
        return True
    forms = ((needed, form) for needed, form in _FORMS if needed.startswith(_KEYS))
    return any(needed in text and re.search(form, text) for needed, form in forms)


def redact(text: str) -> str:
    for value in _hidden:
        if value in text:
            text = text.replace(value, REDACTED)
    if len(text) < MIN_KEY_TEXT and "://" not in text:
        return text
    for needed, form in _FORMS:
        if needed in text:
            text = re.sub(form, REDACTED, text)  # `re` caches the compiled form
    return text

"""Specifications: the four sections each must have, and the criteria in them."""

import re

from ralph_tui.domain.base import Model

_HEADING = re.compile(r"^#{2,}\s+(.+?)\s*#*$", re.MULTILINE)
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.+)$", re.MULTILINE)
_CHECK = re.compile(r"^\s*[-*+]\s+\[[ xX]\]\s+(.+)$", re.MULTILINE)
_CONSTRAINTS = re.compile(r"constraint|non-?\s?goal", re.IGNORECASE)


class Spec(Model):
    """A file of `specs/` as read."""

    name: str
    """The file's name, such as `authentication.md`."""
    text: str
    folder: str = "specs"
    """Where it is in the project; a feature has a folder of its own."""

    @property
    def path(self) -> str:
        """Its path in the project."""
        return f"{self.folder}/{self.name}"

    @property
    def criteria(self) -> tuple[str, ...]:
        """Its acceptance criteria, in order."""
        body = _section(self.text, re.compile(r"acceptance criteria", re.IGNORECASE)) or ""
        return tuple(match.strip() for match in _CHECK.findall(body))

    def problems(self) -> tuple[str, ...]:
        """Return what is missing, each as something to do."""
        checks = (
            (
                r"problem statement",
                "a section `## Problem Statement` that says what is wrong today",
            ),
            (r"success criteria", "a section `## Success Criteria` with measurable bullets"),
            (_CONSTRAINTS.pattern, "a section `## Constraints` with constraints and non-goals"),
            (r"acceptance criteria", "a section `## Acceptance Criteria` with `- [ ]` items"),
        )
        missing = [
            wanted
            for pattern, wanted in checks
            if not (_section(self.text, re.compile(pattern, re.IGNORECASE)) or "").strip()
        ]
        if not missing:
            success = _section(self.text, re.compile("success criteria", re.IGNORECASE)) or ""
            if not _BULLET.search(success):
                missing.append("bullets under `## Success Criteria`, each of them measurable")
            if not self.criteria:
                missing.append(
                    "`- [ ]` items under `## Acceptance Criteria`, each of them testable"
                )
        return tuple(missing)


def _section(text: str, title: re.Pattern[str]) -> str | None:
    """Return the body under the first heading that matches, up to the next heading."""
    headings = list(_HEADING.finditer(text))
    for number, heading in enumerate(headings):
        if title.search(heading[1]):
            end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
            return text[heading.end() : end]
    return None

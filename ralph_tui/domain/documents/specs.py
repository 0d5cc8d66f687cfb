"""Specifications: their required sections and criteria, and the parts that a task refers to."""

import re
from collections.abc import Collection, Iterator, Sequence

from ralph_tui.domain.base import Model
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.verification.verification import criterion_text

_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.+)$", re.MULTILINE)
_CHECK = re.compile(r"^\s*[-*+]\s+\[[ xX]\]\s+(.+)$", re.MULTILINE)


class Spec(Model):
    """A file in `specs/`."""

    name: str
    """The file's name, such as `authentication.md`."""
    text: str
    folder: str = "specs"
    """The folder in the project; a feature has its own."""

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}"

    @property
    def criteria(self) -> tuple[str, ...]:
        body = _section(self.text, "acceptance criteria")
        return tuple(match.strip() for match in _CHECK.findall(body))

    def problems(self) -> tuple[str, ...]:
        """Return what is missing, each as something to add."""
        checks = (
            (
                r"problem statement",
                "a section `## Problem Statement` that says what is wrong today",
            ),
            (r"success criteria", "a section `## Success Criteria` with measurable bullets"),
            (
                r"constraint|non-?\s?goal",
                "a section `## Constraints` with constraints and non-goals",
            ),
            (r"acceptance criteria", "a section `## Acceptance Criteria` with `- [ ]` items"),
        )
        missing = [wanted for pattern, wanted in checks if not _section(self.text, pattern).strip()]
        if not missing:
            if not _BULLET.search(_section(self.text, "success criteria")):
                missing.append("bullets under `## Success Criteria`, each of them measurable")
            if not self.criteria:
                missing.append(
                    "`- [ ]` items under `## Acceptance Criteria`, each of them testable"
                )
        return tuple(missing)


def counting(specs: Sequence[Spec], written: Collection[str]) -> tuple[Spec, ...]:
    """Return the specs that are planned, approved and validated, since a repository may have a folder of its own.

    These are the files that ralph wrote, and those in its form. Only without either, all files count: the person
    wrote them by hand.
    """
    kept = tuple(spec for spec in specs if spec.name in written or not spec.problems())
    return kept or tuple(specs)


def persons_own(
    names: Sequence[str], written: Collection[str], before: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the person's files: those of an unfinished discovery (None without one), or all that ralph did not write."""
    kept = before if before is not None else [name for name in names if name not in written]
    return tuple(name for name in names if name in kept)


def _section(text: str, title: str) -> str:
    """Return the text below the first heading of level two or deeper with this title, up to the next heading."""
    below = (
        text[s.start : s.own_end]
        for s in _sections(text)
        if re.search(title, s.heading, re.IGNORECASE)
    )
    found = next((part for part in below if part.lstrip().startswith("##")), "")
    return found.partition("\n")[2]


CHARACTERS = 6_000
"""Characters of all parts together in one prompt."""

LEAST = 400
"""Parts are not cut to fewer characters than this, because so little of a part would mislead."""

MOST_LISTED = 20
"""How many spec files a prompt lists by name."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_FILE = re.compile(
    r"(?P<path>[\w./-]*?[\w.-]+\.md)\b(?:#(?P<anchor>[^\s)\]>\"'`,;]+))?", re.IGNORECASE
)
_ID = re.compile(r"\b[A-Z]{1,8}-?\d+(?:[.-]\d+)*\b")
_NUMBERED = re.compile(
    r"(?<![^\W_])requirements?:?\s+(\d+(?:\.\d+)*(?:\s*,\s*\d+(?:\.\d+)*)*)", re.IGNORECASE
)
_COMMON_HEADINGS = frozenset(
    {
        "acceptance criteria",
        "assumptions",
        "constraints",
        "goals",
        "introduction",
        "non-goals",
        "overview",
        "problem statement",
        "requirements",
        "success criteria",
        "user stories",
    }
)
"""Headings that any spec may have. Their words in a task do not refer to a section."""


class SpecPart(Model):
    """A part of a spec that a task refers to."""

    file: str
    """The file's name, as in `Spec`."""
    heading: str = ""
    """The heading of the section; empty for the whole file."""
    text: str
    left_out: int = 0
    """Characters of the part that did not fit."""


class _Section(Model):
    heading: str
    anchor: str
    start: int
    end: int
    own_end: int
    """Where the next section begins, which may be a subsection."""


def parts_for(task: Task, specs: Sequence[Spec], *, most: int = CHARACTERS) -> tuple[SpecPart, ...]:
    """Return the parts of the specs that a task refers to, in the order of the files.

    A task refers to a section by `file.md#anchor`, by its heading, or by an id in the section. It refers to a
    whole file by `file.md`, unless it also refers to a section of that file.
    """
    task_text = _task_text(task)
    chosen: list[tuple[Spec, int, int, str]] = []
    for spec in specs:
        sections = _sections(spec.text)
        named = [s for s in sections if _is_named(task_text, task.id, spec, s)]
        inner = [s for s in named if not any(_contains(s, other) for other in named)]
        chosen += [(spec, s.start, s.end, s.heading) for s in inner]
        if not inner and next(_mentions(task_text, spec), None) is not None:
            chosen.append((spec, 0, len(spec.text), ""))
    return _fitted(chosen, most)


def _fitted(chosen: Sequence[tuple[Spec, int, int, str]], most: int) -> tuple[SpecPart, ...]:
    parts: list[SpecPart] = []
    left = most
    for number, (spec, start, end, heading) in enumerate(chosen):
        text = inert(spec.text[start:end]).strip()
        share = left // (len(chosen) - number)
        kept = text if len(text) <= share else _cut(text, share)
        left -= len(kept)
        parts.append(
            SpecPart(
                file=spec.name,
                heading=one_line(heading, 120),
                text=kept,
                left_out=len(text) - len(kept),
            )
        )
    return tuple(parts)


def _cut(text: str, most: int) -> str:
    if most < LEAST:
        return ""
    at = text.rfind("\n", 0, most)
    return text[: at if at >= LEAST else most].rstrip()


def _task_text(task: Task) -> str:
    criteria = (criterion_text(criterion) for criterion in task.verification_criteria)
    return "\n".join((task.description, task.group, task.notes, *task.labels, *criteria))


def _sections(text: str) -> list[_Section]:
    """Return the sections of a spec. Headings in code blocks do not count."""
    found: list[tuple[int, int, str]] = []
    position, fence = 0, ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark is not None and not fence:
            fence = mark[1]
        elif mark is not None and line.strip() == mark[1] and mark[1].startswith(fence):
            fence = ""
        elif not fence and (heading := _HEADING.match(line.rstrip("\r\n"))) and heading[2]:
            found.append((position, len(heading[1]), heading[2]))
        position += len(line)
    return list(_with_ends(len(text), found))


def _with_ends(size: int, found: Sequence[tuple[int, int, str]]) -> Iterator[_Section]:
    used: dict[str, int] = {}
    for number, (start, level, heading) in enumerate(found):
        after = found[number + 1 :]
        slug = re.sub(r"[^\w\- ]", "", heading.strip().casefold()).replace(" ", "-")
        again = used.get(slug, 0)
        used[slug] = again + 1
        yield _Section(
            heading=heading,
            anchor=f"{slug}-{again}" if again else slug,
            start=start,
            end=next((at for at, other, _ in after if other <= level), size),
            own_end=after[0][0] if after else size,
        )


def _is_named(task_text: str, task_id: str, spec: Spec, section: _Section) -> bool:
    anchors = {
        m["anchor"].casefold().rstrip(".:") for m in _mentions(task_text, spec) if m["anchor"]
    }
    if section.anchor in anchors:
        return True
    plain = _plain(section.heading)
    is_distinctive = len(plain) >= 8 or (" " in plain and len(plain) >= 5)
    is_own = is_distinctive and plain not in _COMMON_HEADINGS
    if is_own and _occurs_in(plain, _plain(task_text)):
        return True
    ids = {*_ID.findall(task_text), *([task_id] if _ID.fullmatch(task_id) else [])}
    if any(_occurs_in(name, section.heading) for name in ids):
        return True
    numbers = (n.strip() for match in _NUMBERED.finditer(task_text) for n in match[1].split(","))
    if any(_occurs_in(f"requirement {number.split('.')[0]}", plain) for number in numbers):
        return True
    own = spec.text[section.start : section.own_end]
    return any(_begins_a_line(name, own) for name in ids)


def _mentions(task_text: str, spec: Spec) -> Iterator[re.Match[str]]:
    for match in _FILE.finditer(task_text):
        if match["path"].rsplit("/", 1)[-1].casefold() == spec.name.casefold():
            yield match


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[`*_]", "", text).casefold().split())


def _occurs_in(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\d)", text) is not None


def _begins_a_line(name: str, text: str) -> bool:
    found = rf"^[ \t]*(?:[-*+]|\d+[.)])?[ \t]*(?:\[[ xX]\][ \t]*)?[*_`\[(]*{re.escape(name)}(?![\w-]|\.\d)"
    return re.search(found, text, re.MULTILINE) is not None


def _contains(outer: _Section, inner: _Section) -> bool:
    """Return whether a section contains another one, so that the inner one is enough."""
    return outer.start < inner.start and inner.end <= outer.end

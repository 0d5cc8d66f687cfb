"""Chooses the parts of the specs that a task names, for the prompt of its iteration. Pure and deterministic."""

import re
from collections.abc import Iterator, Sequence

from ralph_tui.domain.base import Model
from ralph_tui.domain.documents.specs import Spec
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.verification.verification import criterion_text

CHARACTERS = 6_000
"""Of all parts together in one prompt."""

LEAST = 400
"""Characters below which a part is not begun: so little of it would mislead."""

MOST_LISTED = 20
"""Files of specs that a prompt lists by name."""

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_FILE = re.compile(
    r"(?P<path>[\w./-]*?[\w.-]+\.md)\b(?:#(?P<anchor>[^\s)\]>\"'`,;]+))?", re.IGNORECASE
)
_ID = re.compile(r"\b[A-Z]{1,8}-?\d+(?:[.-]\d+)*\b")
_NUMBERED = re.compile(
    r"(?<![^\W_])requirements?:?\s+(\d+(?:\.\d+)*(?:\s*,\s*\d+(?:\.\d+)*)*)", re.IGNORECASE
)
_ANY_SPEC = frozenset(
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
"""Headings that every spec may have, so that their words in a task name none of them."""


class SpecPart(Model):
    """A part of a spec that a task names."""

    file: str
    """The file's name, as in `Spec`."""
    heading: str = ""
    """The heading of the section; empty for the whole file."""
    text: str
    left_out: int = 0
    """Characters of it that did not fit."""


class _Section(Model):
    heading: str
    anchor: str
    start: int
    end: int
    own_end: int
    """Where the first section below it begins."""


def parts_for(task: Task, specs: Sequence[Spec], *, most: int = CHARACTERS) -> tuple[SpecPart, ...]:
    """Return the parts of the specs that a task names, in the order of the files, within `most` characters.

    A task names a section by `file.md#anchor`, by its heading, or by an id that is in it. It names a whole
    file by `file.md` alone, unless something else already names a section of that file.

    Args:
        task: The task.
        specs: The specs that its plan was made from.
        most: Characters of all parts together.
    """
    said = _said(task)
    chosen: list[tuple[Spec, int, int, str]] = []
    for spec in specs:
        sections = _sections(spec)
        named = [s for s in sections if _names(said, task.id, spec, s)]
        inner = [s for s in named if not any(_contains(s, other) for other in named)]
        chosen += [(spec, s.start, s.end, s.heading) for s in inner]
        if not inner and _whole(said, spec):
            chosen.append((spec, 0, len(spec.text), ""))
    return _fitted(chosen, most)


def _fitted(chosen: Sequence[tuple[Spec, int, int, str]], most: int) -> tuple[SpecPart, ...]:
    """Return the parts within the limit: each may have its share of what those before it left."""
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
    """Return the beginning of a text up to the end of a line; nothing where that is too little."""
    if most < LEAST:
        return ""
    at = text.rfind("\n", 0, most)
    return text[: at if at >= LEAST else most].rstrip()


def _said(task: Task) -> str:
    """Return everything that a task says, on lines of their own."""
    criteria = (criterion_text(criterion) for criterion in task.verification_criteria)
    return "\n".join((task.description, task.group, task.notes, *task.labels, *criteria))


def _sections(spec: Spec) -> list[_Section]:
    """Return the sections under the headings of a spec; a heading in a code block is none."""
    found: list[tuple[int, int, str]] = []
    position, fence = 0, ""
    for line in spec.text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark is not None and not fence:
            fence = mark[1]
        elif mark is not None and line.strip() == mark[1] and mark[1].startswith(fence):
            fence = ""
        elif not fence and (heading := _HEADING.match(line.rstrip("\r\n"))) and heading[2]:
            found.append((position, len(heading[1]), heading[2]))
        position += len(line)
    return list(_bounded(spec, found))


def _bounded(spec: Spec, found: Sequence[tuple[int, int, str]]) -> Iterator[_Section]:
    """Give each heading its end, and the anchor that GitHub would give it."""
    used: dict[str, int] = {}
    for number, (start, level, heading) in enumerate(found):
        after = found[number + 1 :]
        slug = _anchor(heading)
        again = used.get(slug, 0)
        used[slug] = again + 1
        yield _Section(
            heading=heading,
            anchor=f"{slug}-{again}" if again else slug,
            start=start,
            end=next((at for at, other, _ in after if other <= level), len(spec.text)),
            own_end=after[0][0] if after else len(spec.text),
        )


def _anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().casefold()).replace(" ", "-")


def _names(said: str, task_id: str, spec: Spec, section: _Section) -> bool:
    anchors = {m["anchor"].casefold().rstrip(".:") for m in _files(said, spec) if m["anchor"]}
    if section.anchor in anchors:
        return True
    plain = _plain(section.heading)
    if plain not in _ANY_SPEC and _is_telling(plain) and _stands_in(plain, _plain(said)):
        return True
    ids = {task_id, *_ID.findall(said)} if _ID.fullmatch(task_id) else set(_ID.findall(said))
    if any(_stands_in(name, section.heading) for name in ids):
        return True
    if any(_stands_in(number, plain) for number in _requirements(said)):
        return True
    own = spec.text[section.start : section.own_end]
    return any(_begins_a_line(name, own) for name in ids)


def _files(said: str, spec: Spec) -> Iterator[re.Match[str]]:
    """Return where the task names this file, by its name or by a path that ends with it."""
    for match in _FILE.finditer(said):
        if match["path"].rsplit("/", 1)[-1].casefold() == spec.name.casefold():
            yield match


def _whole(said: str, spec: Spec) -> bool:
    return any(True for _ in _files(said, spec))


def _requirements(said: str) -> set[str]:
    """Return `requirement 2` for each number that follows that word, as in "Requirements: 2.1, 2.3"."""
    numbers = (n.strip() for match in _NUMBERED.finditer(said) for n in match[1].split(","))
    return {f"requirement {number.split('.')[0]}" for number in numbers}


def _plain(text: str) -> str:
    """Return words in lower case with single spaces, without the signs of Markdown."""
    return " ".join(re.sub(r"[`*_]", "", text).casefold().split())


def _is_telling(plain: str) -> bool:
    """Return whether a heading is long enough for its words in a text to mean that section."""
    return len(plain) >= 8 or (" " in plain and len(plain) >= 5)


def _stands_in(name: str, text: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\d)", text) is not None


def _begins_a_line(name: str, text: str) -> bool:
    """Return whether an id begins a line or an item of a list, as in `- **FR-003**: …`."""
    found = rf"^[ \t]*(?:[-*+]|\d+[.)])?[ \t]*(?:\[[ xX]\][ \t]*)?[*_`\[(]*{re.escape(name)}(?![\w-]|\.\d)"
    return re.search(found, text, re.MULTILINE) is not None


def _contains(outer: _Section, inner: _Section) -> bool:
    """Return whether a section has another one below it; naming the smaller one is then enough."""
    return outer.start < inner.start and inner.end <= outer.end

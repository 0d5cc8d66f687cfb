"""Find what silences a check at one place: marks in sources, and types that functions lost."""

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator

SUPPRESSION = re.compile(
    r"noqa|type:\s*ignore|pylint:\s*disable|mypy:\s*ignore|pragma:\s*no\s*(?:cover|branch)|fmt:\s*(?:off|skip)"
    r"|nosec|@ts-(?:nocheck|ignore|expect-error)|eslint-disable|nolint|#!?\[(?:allow|expect)\(|#\[ignore|@SuppressWarnings"
    r"|@Disabled|@Ignore|@phpstan-ignore|#pragma\s+(?:warning|GCC diagnostic)|dead_code|no_type_check|\bif\b[^\n]*\bTYPE_CHECKING"
    r"|\bas\s+any\b|\bas\s+unknown\s+as\b|\bcast\((?:\w+\.)?Any\b"
    r"|(?:#|//|/\*|<!--|--)\s*[\w-]+(?:[:-]+\s*|\s+)(?:off|disable|ignore|skip)\b",
    re.IGNORECASE,
)
"""Marks that silence a check at one place."""


def suppressions(text: str) -> Counter[str]:
    return Counter(mark.lower() for mark in SUPPRESSION.findall(text))


def new_suppressions(old: bytes | None, new: bytes | None) -> int:
    before, after = (suppressions((one or b"").decode("utf-8", "replace")) for one in (old, new))
    return (after - before).total() + bool(old and new and with_old_types(old, new) != new)


_OPENING = re.compile(r"(?:/\*+|//+|#+|<!--|--|;+|%+)\s*$")


def without_new_marks(old: bytes, new: bytes) -> bytes:
    """Return the content without new marks that silence a check, and without the rest of their lines."""
    known = Counter(line.strip() for line in old.decode("utf-8", "replace").splitlines())
    kept = []
    for line in with_old_types(old, new).decode("utf-8", "replace").splitlines(keepends=True):
        mark = SUPPRESSION.search(line)
        if mark is None or known[line.strip()]:
            kept.append(line)
        elif "TYPE_CHECKING" in mark[0]:
            kept.append(_ONLY_TYPED.sub(_both_ways, line))
        elif mark[0].startswith(("as", "cast")):
            kept.append(_without_casts(line))
        else:
            end = line[len(line.rstrip("\r\n")) :]
            kept.append(f"{_OPENING.sub('', line[: mark.start()]).rstrip()}{end}")
    return "".join(kept).encode()


_CASTS = (
    (re.compile(r"\bas\s+any\b"), "as unknown"),
    (re.compile(r"\bas\s+unknown\s+as\b"), "as"),
    (re.compile(r"\bcast\((?:\w+\.)?Any\b"), "cast(object"),
)
"""Casts to what fits everywhere, with what has to be known of it before it fits."""


def _without_casts(line: str) -> str:
    for cast, stricter in _CASTS:
        line = cast.sub(stricter, line)
    return line


_ONLY_TYPED = re.compile(r"(not\s+)?((?:typing\.)?\bTYPE_CHECKING\b)")


def _both_ways(match: re.Match[str]) -> str:
    """Return the condition so that a type checker, too, looks at both of its ways."""
    both = f"{match[2]} and __name__"
    return f"{match[1]}({both})" if match[1] else both


_ANY = ("Any", "typing.Any", "object")
_SIGNATURE_END = re.compile(rb"\)\s*:")
_Place = tuple[str, str]


def with_old_types(old: bytes, new: bytes) -> bytes:
    """Return Python source with the types that its functions had, where they have none now or one that is any."""
    try:
        before, after = (list(_types(ast.parse(one))) for one in (old, new))
    except (SyntaxError, ValueError, RecursionError):
        return new
    untyped = {place for place, _, type_ in before if type_ is None}
    known = {p: ast.unparse(type_) for p, _, type_ in before if type_ and p not in untyped}
    starts = list(itertools.accumulate(map(len, new.splitlines(keepends=True)), initial=0))

    def end_of(node: ast.expr | ast.arg) -> int:
        return starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)

    parts = []
    for place, node, type_ in after:
        was, now = known.get(place, "Any"), ast.unparse(type_) if type_ else "Any"
        if was in _ANY or now not in _ANY or (now == "object" and place[1]):
            continue
        if type_:
            parts.append((starts[type_.lineno - 1] + type_.col_offset, end_of(type_), f'"{was}"'))
        elif isinstance(node, ast.arg):
            parts.append((end_of(node), end_of(node), f': "{was}"'))
        else:
            inner = (one for one in ast.walk(node.args) if isinstance(one, (ast.expr, ast.arg)))
            last = max(map(end_of, inner), default=starts[node.lineno - 1] + node.col_offset)
            if match := _SIGNATURE_END.search(new, last):
                parts.append((match.start() + 1, match.start() + 1, f' -> "{was}"'))
    for start, end, text in sorted(parts, reverse=True):
        new = new[:start] + text.encode() + new[end:]
    return new


def _types(
    tree: ast.AST, within: str = ""
) -> Iterator[tuple[_Place, ast.arg | ast.FunctionDef | ast.AsyncFunctionDef, ast.expr | None]]:
    """Yield the functions and their arguments with their types; an argument's place has its name."""
    for node in ast.iter_child_nodes(tree):
        name = f"{within}.{node.name}" if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) else within
        if isinstance(node, _FUNCTIONS):
            yield (name, ""), node, node.returns
            for one in ast.walk(node.args):
                if isinstance(one, ast.arg):
                    yield (name, one.arg), one, one.annotation
        yield from _types(node, name)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

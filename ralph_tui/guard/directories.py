"""Follows options that make a program run in another directory."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ralph_tui.guard.names import names
from ralph_tui.guard.syntax import Word
from ralph_tui.guard.walk import Invocation

_OPTIONS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(names("uv uvx"), names("--directory")),
        **dict.fromkeys(names("make gmake"), names("-C --directory")),
        **dict.fromkeys(names("npm npx"), names("-C --prefix")),
        "pnpm": names("-C --dir"),
        "yarn": names("--cwd"),
        "bun": names("--cwd"),
        "just": names("-d --working-directory"),
        "task": names("-d --dir"),
        "mise": names("-C --cd"),
        **dict.fromkeys(names("cargo go ninja meson rake poe"), names("-C")),
        **dict.fromkeys(names("gradle gradlew"), names("-p --project-dir")),
        **dict.fromkeys(names("terraform tofu"), names("-chdir")),
        "mvn": names("-f --file"),
    }
)


def directed(given: Invocation) -> Invocation:
    """Move the invocation to the directory that the program's options name.

    Raises:
        DeniedError: The directory is ralph's, git's or the CLI's own.
    """
    options = _OPTIONS.get(given.program)
    chosen = list(_chosen(given.arguments, options)) if options else []
    for directory in chosen:
        given.places.check_guarded(directory, given.shown)
    return moved(given, chosen)


def moved(given: Invocation, directories: Sequence[Word]) -> Invocation:
    """Move the invocation to these directories, one after the other."""
    if not directories:
        return given
    places = given.places.fork()
    for directory in directories:
        places.move(directory, certain=True)
    return replace(given, places=places)


def _chosen(words: Sequence[Word], options: frozenset[str]) -> Iterator[Word]:
    """List the values of these options. Words after `--` belong to another program."""
    for at, word in enumerate(words):
        name, equals, _ = word.text.partition("=")
        if word.text == "--":
            return
        if name in options and equals:
            yield word.cut(len(name) + 1)
        elif name in options:
            yield from words[at + 1 : at + 2]
        elif word.text[:2] in options and not re.match(r"--|-\w$", word.text):
            yield word.cut(2)

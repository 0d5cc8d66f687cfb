"""Reads what a person gives to a run: requests, guidance, tasks, a prompt template, and prepared answers."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.domain.documents.questions import (
    Answer,
    AskedQuestion,
    GivenAnswers,
    Question,
    parse_answer,
    slip,
)
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.engine.control.request import OwnPrompt

MAX_CHARACTERS = 100_000
"""Longest request, prompt template or file of answers; longer texts belong in a spec."""

MAX_ADDITION = 36_000
"""Longest text to plan, in characters; a longer one would be cut in the prompt."""

MAX_ANSWER = MAX_GUIDANCE = 20_000
"""Longest answer or guidance, in characters; more would crowd the task out of the prompt."""


_INTO_SPECS = "Put the details into specs/*.md and only summarize them here."


def read_request(words: Sequence[str] | None) -> str:
    """Read a request: the words, standard input (`-`) or a file (`@path`); empty without words."""
    if not words:
        return ""
    empty = 'Describe what to build: ralph run "A habit tracker".'
    return _text(words, "request", MAX_CHARACTERS, empty=empty, long=_INTO_SPECS)


def read_guidance(words: Sequence[str]) -> str:
    empty = 'Write it after the command: ralph inject "…".'
    long = "Put it into a file and ask the agent to read that file."
    return _text(words, "guidance", MAX_GUIDANCE, empty=empty, long=long)


def read_task(words: Sequence[str]) -> str:
    empty = 'Describe the task: ralph add "Read a file".'
    return _text(words, "task", MAX_GUIDANCE, empty=empty, long=_INTO_SPECS)


def read_addition(words: Sequence[str], name: str = "") -> str:
    """Read a text to plan, from the same sources as a request.

    Args:
        words: The words of the command line, or a text that was read already.
        name: Where that text came from; empty if the words are still to be read.
    """
    text, where = (words[0].strip(), f"in {name}") if name else _text_and_source(words, "text")
    empty = 'Describe what to plan: ralph add --plan "Export to CSV".'
    return _bounded(text, f"text {where}", MAX_ADDITION, empty=empty, long=_INTO_SPECS)


def _text(words: Sequence[str], what: str, most: int, *, empty: str, long: str) -> str:
    text, where = _text_and_source(words, what)
    return _bounded(text, f"{what} {where}", most, empty=empty, long=long)


def _bounded(text: str, what: str, most: int, *, empty: str, long: str) -> str:
    if not text.strip():
        raise RalphError(f"The {what} is empty.", empty)
    if len(text) > most:
        raise RalphError(f"The {what} is longer than {most:,} characters.", long)
    return text


def one_text(words: Sequence[str]) -> str:
    """Return the words of a command line as one text, and a text from elsewhere as it is."""
    return words if isinstance(words, str) else " ".join(words)


def _text_and_source(words: Sequence[str], what: str) -> tuple[str, str]:
    text = one_text(words).strip()
    if isinstance(words, str):
        return text, "given"
    if text == "-":
        return standard_input(what).strip(), "on standard input"
    if text.startswith("@") and len(words) == 1:
        return _read(Path(text[1:]), what).strip(), f"in {text[1:]}"
    return text, "on the command line"


def standard_input(what: str) -> str:
    try:
        return sys.stdin.read(MAX_CHARACTERS + 1)
    except UnicodeDecodeError as error:
        raise _not_utf8(f"{what} on standard input", error) from error


def _not_utf8(what: str, error: UnicodeDecodeError) -> RalphError:
    wrong = f"0x{error.object[error.start]:02x}"
    message = f"The {what} is not UTF-8, as the byte {wrong} shows."
    return RalphError(message, "Save it as UTF-8.")


def given_answer(asked: AskedQuestion | None, text: str, *, decline: bool) -> Answer:
    """Read an answer to a question; that to an unknown one is kept as it is, because the controls refuse its ID."""
    text = text.strip()
    if decline and text:
        raise RalphError("An answer and declining exclude each other.", "Leave one of them out.")
    if decline:
        return Answer(declined=True, by="command")
    empty, long = "Write it after the ID, or decline.", "Put it into a file and name that."
    _bounded(text, "answer", MAX_ANSWER, empty=empty, long=long)
    question = asked.question if asked else Question(question="")
    if wrong := slip(question, text):
        raise RalphError(wrong, "Nothing was answered.")
    return parse_answer(question, text, by="command")


def read_prompt(path: Path | None) -> "OwnPrompt | None":
    if path is None:
        return None
    from ralph_tui.engine.control.request import OwnPrompt

    empty = "Write what the agent should do."
    long = "Shorten it. What concerns the whole project belongs in AGENTS.md."
    text, what = _read(path, "prompt"), f"prompt file {path}"
    return OwnPrompt(_bounded(text, what, MAX_CHARACTERS, empty=empty, long=long), path.name)


def read_answers(path: Path | None) -> GivenAnswers:
    """Read prepared answers from a YAML or JSON file that maps questions, by text or header, to answers."""
    if path is None:
        return GivenAnswers()
    import yaml

    try:
        # Every scalar stays text: `yes` and `3.10` are answers, not a boolean and a number.
        found = yaml.load(_read(path, "answers"), Loader=yaml.BaseLoader)  # noqa: S506  (the base loader only makes text)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise RalphError(f"{where}: this is neither YAML nor JSON.", _FORM) from error
    if found in (None, ""):
        return GivenAnswers()
    if not isinstance(found, dict):
        raise RalphError(f"{path} must hold a mapping of questions to answers.", _FORM)
    return GivenAnswers(
        answers={str(key): _answer(value, key, path) for key, value in found.items()}
    )


_FORM = 'One answer a line: "Which storage?": SQLite. Several choices are a list.'


def _answer(value: object, key: object, path: Path) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    raise RalphError(
        f"{path}: the answer to {str(key)!r} must be a text or a list of texts.", _FORM
    )


def _read(path: Path, what: str) -> str:
    try:
        with path.expanduser().open(encoding="utf-8-sig") as file:
            return file.read(MAX_CHARACTERS + 1)
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise RalphError(
            f"The {what} file {path} cannot be read: {why}.", "Check its name."
        ) from error
    except UnicodeDecodeError as error:
        raise _not_utf8(f"{what} file {path}", error) from error

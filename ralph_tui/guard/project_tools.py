"""The project's tools, which run in uv's environment: where they stand, for `uv run` to be put before."""

from typing import NamedTuple

from ralph_tui.guard.packages import PYTHON
from ralph_tui.guard.verdicts import deny
from ralph_tui.guard.walk import Invocation


def is_tool(given: Invocation) -> bool:
    """Whether the program itself is one, by its name and not by a path."""
    return given.program in given.policy.python_tools and "/" not in given.words[0].text


def tool_of(given: Invocation) -> str:
    """The tool that is to run through uv, also as `python -m pytest`; empty if there is none."""
    words = given.arguments
    if given.under_uv or "/" in given.words[0].text:
        return ""
    if is_tool(given):
        return given.program
    python = PYTHON.fullmatch(given.program) and given.program != "py"
    if python and len(words) > 1 and words[0].text == "-m":
        module = words[1].text
        return f"{given.program} -m {module}" if module in given.policy.python_tools else ""
    return ""


def script_of(given: Invocation) -> str:
    """The Python script or module that is to run through uv; empty if there is none.

    Code on the command line or from standard input needs nothing of the project more often than not. What
    stands nowhere in the text runs as it is.
    """
    head = given.words[0]
    python = PYTHON.fullmatch(given.program) and given.program != "py" and "/" not in head.text
    if not (python and given.policy.scripts_through_uv) or given.under_uv or head.start < 0:
        return ""
    words = [word for word in given.arguments[:MOST_OPTIONS] if word.text not in _PLAIN_OPTIONS]
    first = words[0].text if words else ""
    if first == "-m" and len(words) > 1:
        return f"{given.program} -m {words[1].text}"
    return f"{given.program} {first}" if first and first[0] not in "-<" else ""


MOST_OPTIONS = 8
_PLAIN_OPTIONS = frozenset({"-u", "-B", "-E", "-I", "-O", "-OO", "-s", "-S", "-v", "-q", "-b"})
"""Options of python that take no value."""


class ThroughUv(NamedTuple):
    """A tool with the words that are put before it."""

    run: str
    tool: str

    def __str__(self) -> str:
        """Both, as the agent could have said it."""
        return f"{self.run} {self.tool}"


def through_uv(tool: str, given: Invocation) -> ThroughUv:
    """A tool with what runs it in this project."""
    return ThroughUv(given.policy.tool_runs.get(tool.rpartition(" ")[2], "uv run"), tool)


def place_of(tool: str, given: Invocation) -> int:
    """Where in the text the agent sent the tool stands.

    Raises:
        DeniedError: It stands nowhere in it, so nothing can be put before it.
    """
    start = given.words[0].start
    if start < 0:
        reason = "The project's tools run in uv's environment"
        deny("uv-run", given.shown, reason, f"Use uv run {tool}.")
    return start

"""The project's tools, which run in uv's environment: where they stand, for `uv run` to be put before."""

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

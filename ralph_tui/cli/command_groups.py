"""Shows the commands of `ralph --help` in groups, the most used first."""

from collections.abc import Mapping
from typing import Any

from typer.core import TyperGroup

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Run": ("run", "discover", "plan", "build", "validate", "regenerate-plan", "demo"),
    "Steer a run": (
        *("pause", "resume", "stop", "inject", "answer", "approve", "reject", "limits", "breaker"),
        "attach",
    ),
    "Tasks": ("tasks", "task", "undo", "verify", "archive", "import", "export"),
    "Look": ("status", "report", "history", "metrics", "replay", "memory"),
    "Project": ("init", "feature", "config", "steps", "notify", "doctor"),
    "More": (
        *("serve", "mcp", "guard", "schema", "test", "lint", "typecheck", "deps"),
        *("reset", "restore", "help", "version"),
    ),
}
"""The commands of each group, in the order of the help. A command that is in none is shown in the last."""

SHORT_FORMS = ("add", "edit", "skip", "retry", "hold", "release", "drop", "complete")
"""Commands that mean the same without `task`."""


class GroupedCommands(TyperGroup):
    """The root of the command tree, whose help has a heading for each group."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Click's types are not Typer's to give
        """Write the commands of each group, then the short forms."""
        grouped = {name for names in GROUPS.values() for name in names}
        others = [n for n in self.commands if n not in grouped and n not in SHORT_FORMS]
        width = max(map(len, self.commands))
        for title, names in GROUPS.items():
            last = title == list(GROUPS)[-1]
            rows = [
                (name, self._summary(name, formatter.width - width - 6))
                for name in (*names, *(others if last else ()))
                if not self.commands[name].hidden
            ]
            with formatter.section(title):
                # An empty row as wide as the longest name lines up the groups' columns.
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])
        with formatter.section("Short forms"):
            formatter.write_text(
                f"`ralph task` can be left out before {', '.join(SHORT_FORMS[:-1])} and {SHORT_FORMS[-1]}."
            )

    def _summary(self, name: str, limit: int) -> str:
        return self.commands[name].get_short_help_str(limit)

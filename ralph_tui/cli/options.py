"""Options several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ProjectRoot = Annotated[
    Path | None,
    typer.Option(
        "--project-root",
        "-C",
        metavar="PATH",
        help="The project; without it, the one the current directory is in.",
        show_default=False,
    ),
]

CENT = 0.01
"""Dollars, the least that a limit may be."""


def examples(*commands: str) -> str:
    """The end of a command's help; the mark at its start keeps the lines as they are."""
    return "\b\n" + "\n".join(f"Example: {command}" for command in commands)


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

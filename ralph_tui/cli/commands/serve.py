"""`ralph serve`: shows the screen in a browser on this machine."""

import os
import sys
from typing import Annotated

import typer

from ralph_tui.cli.console import note
from ralph_tui.cli.options import ProjectRoot, examples
from ralph_tui.cli.project_lookup import find_project

app = typer.Typer()


@app.command(epilog=examples("ralph serve", "ralph serve --port 9000 --no-open"))
def serve(
    *,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=1, max=65535, help="Where to listen.")
    ] = 8642,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")
    ] = "127.0.0.1",
    let_others_in: Annotated[
        bool,
        typer.Option("--let-others-in", help="Allow an address that other machines can reach."),
    ] = False,
    browser: Annotated[
        bool, typer.Option("--open/--no-open", help="Open a browser where there is a desktop.")
    ] = True,
    project_root: ProjectRoot = None,
) -> None:
    """Show the screen in a browser.

    Only the address printed here opens it, and only on this machine. A loop started on a page runs in the
    background: closing the page leaves it alone.
    """
    root = find_project(project_root).root
    from ralph_tui.tui.web_server import RalphServer, check_address

    check_address(host, let_others_in=let_others_in)
    command = [sys.executable, "-m", "ralph_tui", "--project-root", str(root)]
    server = RalphServer(command, host, port, f"ralph - {root.name}", say=note)
    server.browser = browser and _has_desktop()
    server.run()


def _has_desktop() -> bool:
    """Return whether a browser would open in a window instead of in this terminal."""
    here = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform == "darwin" or any(os.environ.get(name) for name in here)

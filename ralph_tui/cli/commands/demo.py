"""`ralph demo`: a whole run, with the model and a person simulated on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.options import Headless, Json, examples
from ralph_tui.cli.run.mode import show_run

if TYPE_CHECKING:
    from ralph_tui.engine.control.launch import Launch

app = typer.Typer()


@app.command(epilog=examples("ralph demo --headless"))
def demo(
    *,
    headless: Headless = False,
    as_json: Json = False,
    speed: Annotated[
        float, typer.Option("--speed", metavar="FACTOR", help="2 plays twice as fast.")
    ] = 1.0,
    keep_at: Annotated[
        Path | None,
        typer.Option("--keep-at", metavar="PATH", help="Make the demo project here."),
    ] = None,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask", help="Leave every answer and approval to you, however long you take."
        ),
    ] = False,
) -> None:
    """Watch Ralph go from a request to a checked result.

    It needs no key and no network. The model is played by a server on this machine; everything else is
    real. What Ralph asks you, the demo answers after a few seconds unless you do.
    """
    from ralph_tui.cli.composition import launch_demo

    def launch(*, interactive: bool) -> "Launch":
        on_screen = interactive and not (headless or as_json)
        return launch_demo(
            speed=speed, keep_at=keep_at, interactive=interactive, on_screen=on_screen, ask=ask
        )

    raise typer.Exit(show_run(launch, headless=headless, as_json=as_json))

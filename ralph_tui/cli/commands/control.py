"""`ralph pause`, `resume`, `stop` and `inject`: steer a loop from another terminal."""

from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.console import out
from ralph_tui.cli.options import ProjectRoot, examples
from ralph_tui.cli.project_lookup import controls_of

if TYPE_CHECKING:
    from ralph_tui.domain.project_state import StopMode

app = typer.Typer()


@app.command(epilog=examples("ralph pause"))
def pause(project_root: ProjectRoot = None) -> None:
    """Pause after this iteration. Asked again, at once."""
    out(f"The loop pauses {_when(controls_of(project_root).pause())}. `ralph resume` continues.")


@app.command(epilog=examples("ralph resume"))
def resume(project_root: ProjectRoot = None) -> None:
    """Resume after a pause, or withdraw it."""
    controls_of(project_root).resume()
    out("The loop continues.")


@app.command(epilog=examples("ralph stop --now"))
def stop(
    *,
    project_root: ProjectRoot = None,
    now: Annotated[
        bool, typer.Option("--now", help="Do not wait for the iteration to end.")
    ] = False,
) -> None:
    """Stop after this iteration. Asked again, at once."""
    out(f"The loop stops {_when(controls_of(project_root).stop(now=now))}.")


@app.command(
    epilog=examples('ralph inject "Use argparse, not click."', "ralph inject --now - < notes.md")
)
def inject(
    text: Annotated[
        list[str],
        typer.Argument(metavar="TEXT", help="Guidance; `-` reads standard input, `@FILE` a file."),
    ],
    *,
    now: Annotated[
        bool, typer.Option("--now", help="Say it to the session that is working.")
    ] = False,
    project_root: ProjectRoot = None,
) -> None:
    """Give guidance to the next iteration, or to this one.

    It waits on disk when no loop is running.
    """
    from ralph_tui.cli.run.inputs import read_guidance

    controls = controls_of(project_root)
    controls.inject(read_guidance(text), now=now)
    if now and controls.is_followed:
        out("Said as soon as the session listens.")
    else:
        out(f"{'No loop is running. ' if now else ''}Queued for the next iteration.")


def _when(halt: "StopMode") -> str:
    from ralph_tui.domain.project_state import StopMode

    return "now" if halt is StopMode.NOW else "after this iteration (ask again: at once)"

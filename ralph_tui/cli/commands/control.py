"""`ralph pause`, `resume`, `stop` and `inject`: steer a loop from another terminal."""

from typing import TYPE_CHECKING, Annotated

from ralph_tui.cli.console import out
from ralph_tui.cli.options import app, argument, examples, flag
from ralph_tui.cli.project_lookup import open_controls

if TYPE_CHECKING:
    from ralph_tui.domain.project_state import StopMode


@app.command(epilog=examples("ralph pause"))
def pause() -> None:
    """Pause the loop after this iteration. Repeat the command to pause at once."""
    out(f"The loop pauses {_when(open_controls().pause())}. `ralph resume` continues.")


@app.command(epilog=examples("ralph resume"))
def resume() -> None:
    """Resume a paused loop, or withdraw a pending pause."""
    open_controls().resume()
    out("The loop continues.")


@app.command(epilog=examples("ralph stop --now"))
def stop(
    *,
    now: Annotated[bool, flag("Stop without waiting for the iteration to end.")] = False,
) -> None:
    """Stop the loop after this iteration. Repeat the command to stop at once."""
    out(f"The loop stops {_when(open_controls().stop(now=now))}.")


@app.command(
    epilog=examples('ralph inject "Use argparse, not click."', "ralph inject --now - < notes.md")
)
def inject(
    text: Annotated[
        list[str], argument("TEXT", "The guidance. `-` reads standard input, `@FILE` reads a file.")
    ],
    *,
    now: Annotated[bool, flag("Send it to the running session.")] = False,
) -> None:
    """Give guidance to the next or the current iteration.

    While no loop is running, the guidance is stored for the next run.
    """
    from ralph_tui.cli.run.inputs import read_guidance

    controls = open_controls()
    controls.inject(read_guidance(text), now=now)
    if now and controls.has_loop:
        out("The running session gets it as soon as possible.")
    else:
        out(f"{'' if controls.has_loop else 'No loop is running. '}Queued for the next iteration.")


def _when(halt: "StopMode") -> str:
    from ralph_tui.domain.project_state import StopMode

    return "now" if halt is StopMode.NOW else "after this iteration (repeat to do so at once)"

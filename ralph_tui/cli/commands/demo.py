"""`ralph demo`: a whole run, with the model and a person simulated on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.completion import demos
from ralph_tui.cli.console import out, out_json, out_table
from ralph_tui.cli.options import Headless, Json, argument, examples, flag, option, programs
from ralph_tui.cli.run.mode import show_run

if TYPE_CHECKING:
    from ralph_tui.engine.control.launch import Launch


@programs.command(epilog=examples("ralph demo --headless", "ralph demo --list", "ralph demo go"))
def demo(
    name: Annotated[
        str,
        argument(
            "NAME", "The demo to run, from --list. Default: the first one.", autocompletion=demos
        ),
    ] = "",
    *,
    list_demos: Annotated[bool, flag("List the demos and the tools they need.", "--list")] = False,
    headless: Headless = False,
    as_json: Json = False,
    speed: Annotated[float, option("FACTOR", "Playback speed; 2 plays twice as fast.")] = 1.0,
    keep_at: Annotated[
        Path | None, option("PATH", "Create the demo project in this directory.")
    ] = None,
    ask: Annotated[
        bool, flag("Wait for your answers and approvals instead of giving them for you.")
    ] = False,
) -> None:
    """Watch Ralph go from a request to a checked result.

    Needs no key and no network. A server on this machine simulates the model; everything else is real. The demo
    answers Ralph's questions after a few seconds unless you do.
    """
    if list_demos:
        _list(as_json=as_json)
        return
    from ralph_tui.cli.composition import launch_demo

    def launch(*, interactive: bool) -> "Launch":
        on_screen = interactive and not (headless or as_json)
        return launch_demo(
            name,
            speed=speed,
            keep_at=keep_at,
            interactive=interactive,
            on_screen=on_screen,
            ask=ask,
        )

    raise typer.Exit(show_run(launch, headless=headless, as_json=as_json))


def _list(*, as_json: bool) -> None:
    from ralph_tui.cli.composition import demo_tools
    from ralph_tui.demo.scenario import load_scenario, shipped_scenario, shipped_scenarios

    demos = [load_scenario(shipped_scenario(name)) for name in shipped_scenarios()]
    rows = [
        (
            one.name,
            one.language,
            {tool: not wrong for tool, wrong in demo_tools(one).items()},
            one.description,
        )
        for one in demos
    ]
    if as_json:
        out_json(
            [dict(zip(("name", "language", "tools", "shows"), row, strict=True)) for row in rows]
        )
        return
    out_table(
        ("Name", "Language", "Tools", "Shows"),
        (
            (
                name,
                language,
                ", ".join(t if works else f"{t} (missing)" for t, works in tools.items()),
                shows,
            )
            for name, language, tools, shows in rows
        ),
    )
    out('\nIn your own project, `ralph until "npm test"` works until that command passes.')

"""`ralph serve`, `mcp` and `schema`: open a project to a browser and to other programs."""

import os
import sys
from typing import Annotated, Literal

from ralph_tui.cli.console import note
from ralph_tui.cli.options import app, argument, examples, flag, option, programs
from ralph_tui.cli.project_lookup import find_project
from ralph_tui.domain.errors import RalphError, SetupError


@app.command(epilog=examples("ralph serve", "ralph serve --port 9000 --no-open"))
def serve(
    *,
    port: Annotated[int, option("N", "The port to listen on.", min=1, max=65535)] = 8642,
    host: Annotated[str, option("ADDRESS", "The address to listen on.")] = "127.0.0.1",
    let_others_in: Annotated[bool, flag("Allow an address that other machines can reach.")] = False,
    browser: Annotated[
        bool, flag("Open a browser if there is a desktop.", "--open/--no-open")
    ] = True,
) -> None:
    """Show the screen in a browser.

    Only the printed address opens the screen, and only on this machine. A loop started on the page runs in the
    background, so closing the page does not stop it.
    """
    project = find_project()
    from ralph_tui.domain.features import shown_name
    from ralph_tui.store.feature_choice import is_feature_named

    try:
        from ralph_tui.tui.web_server import RalphServer, check_address
    except ModuleNotFoundError as error:
        raise SetupError(
            f"`ralph serve` needs a package that is not installed: {error.name}.",
            "Install ralph with it: in its checkout, run `uv tool install '.[serve]'`.",
        ) from error
    root, feature = project.root, project.layout.feature
    check_address(host, let_others_in=let_others_in)
    command = [sys.executable, "-m", "ralph_tui", "--project-root", str(root)]
    title = f"ralph - {root.name}"
    if is_feature_named():  # otherwise a page shows the feature that is chosen when it opens
        command += ["--feature", shown_name(feature)]
        title += f" - {shown_name(feature)}"
    server = RalphServer(command, host, port, title, say=note)
    displays = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    server.browser = browser and (sys.platform == "darwin" or bool(displays))
    server.run()


@app.command(
    epilog=examples("ralph mcp", "claude mcp add ralph -- ralph mcp"),
)
def mcp() -> None:
    """Let your own MCP client see and steer the loop.

    A client such as Claude Code starts this command and talks to it on standard input and output. The tools are
    status, tasks, add, inject, answer, pause, resume and stop. The loop's own agents cannot use them.
    """
    from ralph_tui import __version__
    from ralph_tui.cli import mcp_steering as tools
    from ralph_tui.store.lock import refuse_agent

    refuse_agent(find_project().layout)
    if sys.stdin is not None and sys.stdin.isatty():
        raise RalphError(
            "`ralph mcp` is started by an MCP client, not at a terminal.",
            "In Claude Code: claude mcp add ralph -- ralph mcp",
        )
    from ralph_tui.agent.stdio_server import serve_tools

    serve_tools(tools.NAME, __version__, tools.INSTRUCTIONS, tools.tool_specs(), tools.answer_call)


@programs.command(
    epilog=examples(
        "ralph schema config > .ralph/config.schema.json",
        "ralph schema plan",
        "ralph schema events",
    )
)
def schema(
    name: Annotated[
        Literal["plan", "config", "events"],
        argument("NAME", "The schema to print."),
    ],
) -> None:
    """Print the JSON Schema of one of ralph's files.

    Editors use it to complete and check the plan and the settings, programs to read events. See docs/schemas.md.
    """
    from ralph_tui.cli.json_schemas import schema_text

    sys.stdout.write(schema_text(name))

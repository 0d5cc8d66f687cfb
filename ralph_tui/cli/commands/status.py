"""`ralph status`: shows where the project stands; takes no lock and changes nothing."""

from typing import Annotated

import typer

from ralph_tui.cli.options import AsJson, ProjectRoot, examples

app = typer.Typer()


@app.command(epilog=examples("ralph status --json"))
def status(
    *,
    project_root: ProjectRoot = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Add the latest sessions.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show where the project stands."""
    from ralph_tui.cli.status_report import print_status

    print_status(project_root, verbose=verbose, as_json=as_json)

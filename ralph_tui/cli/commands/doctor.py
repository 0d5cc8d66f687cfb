"""`ralph doctor`: says whether everything a run needs is in place, and what to do if it is not."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.console import note, out, out_json
from ralph_tui.cli.options import AsJson, ProjectRoot, examples
from ralph_tui.cli.project_lookup import start_directory
from ralph_tui.domain.errors import ExitCode

if TYPE_CHECKING:
    from ralph_tui.cli.doctor.finding import Finding
    from ralph_tui.present.text.glyphs import Glyphs

app = typer.Typer()


@app.command(epilog=examples("ralph doctor", "ralph doctor --end-strays"))
def doctor(
    *,
    project_root: ProjectRoot = None,
    as_json: AsJson = False,
    end_strays: Annotated[
        bool, typer.Option("--end-strays", help="End processes that a dead run left behind.")
    ] = False,
) -> None:
    """Check what a run needs. Spends nothing."""
    from ralph_tui.cli.doctor.checks import examine, strays_of

    if end_strays and (left := strays_of(start_directory(project_root))):
        from ralph_tui.engine.safety import orphan_processes

        orphan_processes.end_orphans(left)
        note(f"{orphan_processes.described(left)} Ended.")
    findings = tuple(examine(start_directory(project_root)))
    if as_json:
        out_json([vars(finding) for finding in findings])
    else:
        _print(findings)
    well = all(finding.ok or finding.is_next for finding in findings if finding.needed)
    raise typer.Exit(int(ExitCode.COMPLETE if well else ExitCode.ERROR))


def _print(findings: "tuple[Finding, ...]") -> None:
    from ralph_tui.present.text.glyphs import choose

    signs = choose(encoding=sys.stdout.encoding)
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        sign, word = _look(finding, signs)
        typer.echo(f"{sign} {word} {finding.name.ljust(width)}  ", nl=False)
        out(finding.text)
        if not finding.ok and finding.advice:
            out(f"{' ' * 8}{finding.advice}")


def _look(finding: "Finding", signs: "Glyphs") -> tuple[str, str]:
    if finding.ok:
        return signs.ok, "ok   "
    if finding.is_next:
        return signs.chevron, "next "
    return (signs.failed, "wrong") if finding.needed else (signs.warning, "note ")

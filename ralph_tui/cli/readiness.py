"""What the screen says before anything is spent: who works within which limits, and what doctor found."""

from collections.abc import Iterator
from pathlib import Path

from ralph_tui.domain.events import Notice

SEEN = ("terminal", "plan")
"""What the screen shows itself."""


def readiness(root: Path) -> Iterator[Notice]:
    """The models and limits of a run, then what is not as it should be; takes a second, and blocks."""
    from ralph_tui.cli.checkup import examine
    from ralph_tui.cli.others import plan_of_another
    from ralph_tui.config.load import load_settings
    from ralph_tui.domain.errors import RalphError
    from ralph_tui.engine.verification.project_checks import checks_of, gate_commands
    from ralph_tui.present.text.figures import limit

    try:
        settings = load_settings(root)
    except RalphError as error:
        yield Notice(level="error", text=str(error))
        return
    models, limits = settings.models, settings.safety.cost_limits
    cost = f", {limit(limits.per_session)}" if limits.per_session else ""
    most = f"up to {settings.phases.building.max_iterations} iterations{cost}"
    yield Notice(text=f"{models.primary} builds, {models.planning} plans; {most}")
    found = tuple(examine(root))
    if commands := gate_commands(checks_of(root, settings), settings):
        listed = ", ".join(f"`{command}`" for command in commands)
        yield Notice(text=f"The gate runs {listed} for every task.")
    if any(f.name == "plan" and not f.ok for f in found) and (other := plan_of_another(root)):
        yield Notice(text=other)
    wrong = [f for f in found if not f.ok and f.name not in SEEN]
    for finding in wrong:
        advice = f" {finding.advice}" if finding.advice else ""
        level = "error" if finding.needed else "warning"
        yield Notice(level=level, text=f"{finding.name}: {finding.text.rstrip('.')}.{advice}")
    if not wrong:
        yield Notice(text="Everything that a run needs is there.")

"""The parts of a run that a test of another part leaves out."""

from types import SimpleNamespace

from ralph_tui.engine.verification.detection.project_checks import GateRules


async def _nothing(*_: object) -> None:
    return


NO_REVIEW = SimpleNamespace(criteria=lambda *_: (), begin=_nothing, finished=_nothing)
"""A reviewer that has nothing to judge."""

NO_GATE = SimpleNamespace(rules=GateRules, own_checks=lambda _: ())
"""A gate without checks."""

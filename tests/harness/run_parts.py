"""The parts of a run that a test of another part leaves out."""

from types import SimpleNamespace
from typing import cast

from ralph_tui.config.settings import Settings
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.verification.detection.project_checks import GateRules
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project import Documents, Project


async def nothing(*_: object) -> None:
    return


NO_GATE = SimpleNamespace(rules=GateRules, own_checks=lambda _: ())
"""A gate without checks."""


class PartialRun(SimpleNamespace):
    """A run with some of its parts; using another is an error."""

    project_state: ProjectState
    configured = settings = Settings()
    clock = staticmethod(utc_now)
    emit = staticmethod(lambda _: None)
    request = RunRequest(only=Phase.BUILDING)
    phase = Phase.BUILDING

    @property
    def docs(self) -> Documents:
        return self.project_state.docs

    @property
    def project(self) -> Project:
        return self.project_state.project


def partial_run(**parts: object) -> RunContext:
    return cast("RunContext", PartialRun(**parts))

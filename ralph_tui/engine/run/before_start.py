"""Check before anything is started or spent what a run would find broken later. Blocks; writes nothing."""

import os
from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.commits.readiness import WorkPlace, work_place
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.prompts.prompts import check_template
from ralph_tui.engine.run.lifecycle import can_ask, first_phase
from ralph_tui.engine.run.webhook import webhook_of
from ralph_tui.engine.safety.phase_extensions import check_extras
from ralph_tui.engine.steps.around_work import check_steps
from ralph_tui.engine.verification.coverage import require_checks, uncovered
from ralph_tui.engine.verification.detection.project_checks import ChecksOfRun
from ralph_tui.store.project import Documents, Project
from ralph_tui.vcs.commits import Committer


def checked_phase(
    project: Project, docs: Documents, services: RunServices, request: RunRequest
) -> Phase:
    """Return the phase where a run begins; refuse settings, prompts and plans that cannot work.

    Args:
        project: The project on disk.
        docs: Its documents.
        services: What the face brings.
        request: What the person asked for.

    Raises:
        RalphError: Something is wrong that a person must correct.
    """
    _require_a_name(project.root)
    settings = services.settings
    phase = first_phase(project, docs, request)
    ahead = tuple(Phase)[tuple(Phase).index(phase) :] if request.only is None else (phase,)
    check_extras(settings, ahead, project.root, services.everything)
    webhook_of(settings.notify.webhook, services.everything)
    if request.prompt is not None:
        check_template(request.prompt.text, source=request.prompt.name)
    if Phase.BUILDING in ahead:
        check_steps(project, settings, docs.steps)
    return phase


def require_verifiable(
    project: Project, docs: Documents, settings: Settings, request: RunRequest, phase: Phase
) -> None:
    """Refuse a plan with tasks that no check can verify, where nobody is there to be asked about it.

    Args:
        project: The project on disk.
        docs: Its documents.
        settings: Its settings.
        request: What the person asked for.
        phase: The phase where the run begins.

    Raises:
        PlanError: There are such tasks.
    """
    if phase is Phase.BUILDING and not can_ask(request):
        rules = ChecksOfRun(project.root, settings).rules()
        require_checks(uncovered(docs.plan, settings.phases.building, rules))


def place_to_work(
    project: Project, settings: Settings, request: RunRequest, *, sandboxed: bool
) -> tuple[WorkPlace, str]:
    """Return where the run works, and its branch; refuse a run that could not commit what it builds.

    The name is empty where ralph neither commits nor checks out a branch.

    Args:
        project: The project on disk.
        settings: Its settings.
        request: What the person asked for.
        sandboxed: Whether a sandbox holds what ralph runs.

    Raises:
        SetupError: The repository is not as it must be.
    """
    docs = project.look()
    place = work_place(
        docs,
        settings,
        project.root,
        asked=request.text.strip() if request.only is None else "",
        builds=request.only in (None, Phase.BUILDING),
        sandboxed=sandboxed,
    )
    return place, place.require_ready(Committer(project.root, None), docs)


def _require_a_name(root: Path) -> None:
    """Refuse a directory whose name the CLI cannot take: it would end at once, without saying why.

    Raises:
        SetupError: The path is not valid UTF-8.
    """
    try:
        str(root).encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(root).decode("utf-8", "replace")
        raise SetupError(
            f"The name of {shown} is not valid UTF-8, and the Claude Code CLI cannot work there.",
            "Rename the directory, or work in another one.",
        ) from error

"""Find problems before a run starts anything or spends money. Blocks; writes nothing."""

import os
from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.commits.task_commits import WorkPlace, work_place
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.prompts.prompts import check_template
from ralph_tui.engine.run.notifications import webhook_of
from ralph_tui.engine.run.phase_order import first_phase
from ralph_tui.engine.safety.phase_extensions import check_extras
from ralph_tui.engine.steps.around_work import check_steps
from ralph_tui.engine.verification.coverage import require_checks, uncovered
from ralph_tui.engine.verification.detection.project_checks import ChecksOfRun
from ralph_tui.store.project import Documents, Project
from ralph_tui.vcs.commits import Committer


def checked_phase(
    project: Project, docs: Documents, services: RunServices, request: RunRequest
) -> Phase:
    """Return the phase where a run begins; refuse what cannot run, and unverifiable tasks that no one can be asked about."""
    _require_utf8_name(project.root)
    settings = services.settings
    phase = first_phase(project, docs, request)
    ahead = tuple(Phase)[tuple(Phase).index(phase) :] if request.only is None else (phase,)
    check_extras(settings, ahead, project.root, services.everything)
    webhook_of(settings.notify.webhook, services.everything)
    if request.prompt is not None:
        check_template(request.prompt.text, source=request.prompt.name)
    if Phase.BUILDING in ahead:
        check_steps(project, settings, docs.steps)
    services.preflight()
    if phase is Phase.BUILDING and not request.answerable:
        rules = ChecksOfRun(project.root, settings).rules()
        require_checks(uncovered(docs.plan, settings.phases.building, rules))
    return phase


def place_to_work(
    project: Project, settings: Settings, request: RunRequest, *, sandboxed: bool
) -> tuple[WorkPlace, str]:
    """Return where the run works and its branch; refuse a run that could not commit its work.

    The branch is empty if ralph neither commits nor checks out a branch.
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


def _require_utf8_name(root: Path) -> None:
    """Refuse a directory whose name the CLI cannot handle; it would exit without an explanation."""
    try:
        str(root).encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(root).decode("utf-8", "replace")
        raise SetupError(
            f"The Claude Code CLI cannot work in {shown}, because its name is not valid UTF-8.",
            "Rename the directory, or use another one.",
        ) from error

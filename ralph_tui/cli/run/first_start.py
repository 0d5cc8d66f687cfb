"""A bare `ralph` in a folder that is not a project yet: the start screen, and what its answer sets up."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.cli.console import note, out
from ralph_tui.domain.errors import SetupError

if TYPE_CHECKING:
    from ralph_tui.config.settings import Settings
    from ralph_tui.domain.plan.import_preview import ImportPreview
    from ralph_tui.domain.verification.check_commands import ProjectChecks
    from ralph_tui.tui.app.start_screen import ForeignPlan, StartChoice, StartFacts

_NO_REPOSITORY = b"not a git repository"
_OTHER_REPOSITORIES = (".hg", ".svn", ".jj", ".bzr", "_darcs")
"""Folders of other version control systems, beside which `git init` is not offered."""


@dataclass(frozen=True)
class FirstStart:
    """One start in a folder that is not a project yet.

    Attributes:
        checks: The checks found in the folder's files.
        files: What will be written to set up ralph, for display.
        plans: Plans of other tools, relative to the folder, the likeliest first.
        is_empty: Whether the folder names no language, so that it may become a Python project.
    """

    root: Path
    checks: "ProjectChecks"
    files: tuple[str, ...]
    plans: tuple[str, ...]
    is_empty: bool = False

    def ask(self) -> "StartChoice | None":
        from ralph_tui.config.load import load_settings
        from ralph_tui.tui.app.start_screen import StartScreen

        if not os.access(self.root, os.W_OK | os.X_OK):
            raise SetupError(
                f"{self.root} cannot be made a project: you may not write there.",
                "Change its permissions, or go to another folder.",
            )
        settings = load_settings(self.root)
        return StartScreen(self.facts(settings), settings.screen.theme).run()

    def facts(self, settings: "Settings") -> "StartFacts":
        from ralph_tui.cli.doctor.check_trial import last_trial
        from ralph_tui.cli.doctor.preflight import LOGIN_HINT, login
        from ralph_tui.domain.verification.check_commands import CheckKind
        from ralph_tui.present.text.figures import limit
        from ralph_tui.tui.app.start_screen import StartFacts

        models, costs = settings.models, settings.safety.cost_limits
        found = [one.command for kind in CheckKind for one in self.checks.of(kind)]
        tried = last_trial(self.root)
        checks = [
            tried.get(one, f"`{one}` (not tried: ralph doctor --try)")
            for one in dict.fromkeys(
                found
            )  # one command may check types and style, as `go vet` does
        ]
        most = f", at most {limit(costs.per_session)} a run" if costs.per_session else ""
        facts = {
            "Checks": "; ".join(checks) or "none found; ralph looks again while it builds",
            "Models": f"{models.planning} plans, {models.primary} builds{most}",
        }
        if self.plans:
            more = f" (and {len(self.plans) - 1} more)" if len(self.plans) > 1 else ""
            facts["Plan"] = f"{self.plans[0]}, from another tool{more} (^t shows what is in it)"
        return StartFacts(
            place=_shown(self.root),
            facts=facts,
            files=self.files,
            missing="" if login() else f"A run needs a login, and there is none. {LOGIN_HINT}",
            plan=self._plan(settings) if self.plans else None,
            offers_git=_may_make_repository(self.root),
            offers_python=self.is_empty,
            root=self.root,
        )

    def _plan(self, settings: "Settings") -> "ForeignPlan":
        from ralph_tui.tui.app.start_screen import ForeignPlan

        def look() -> "ImportPreview":
            from ralph_tui.engine.control.controls import Controls
            from ralph_tui.engine.run.plan_import import PlanImport

            importing = PlanImport(Controls(self.root), settings, self.root, into_new="")
            return importing.look(self.plans[0])

        return ForeignPlan(self.plans[0], look)

    def make_repository(self) -> None:
        """Run `git init`, unless a repository exists by now."""
        from ralph_tui.vcs.git import Git

        if _may_make_repository(self.root):
            Git(self.root).text("init", "--quiet")
            out("created  .git (git init)")

    def import_plan(self, shown: "ImportPreview") -> None:
        from ralph_tui.cli.run.import_dialog import finish
        from ralph_tui.config.load import load_settings
        from ralph_tui.domain.errors import RalphError
        from ralph_tui.engine.control.controls import Controls
        from ralph_tui.engine.run.plan_import import PlanImport

        importing = PlanImport(Controls(self.root, tell=note), load_settings(self.root), self.root)
        if importing.look(self.plans[0]).effect != shown.effect:
            raise RalphError(
                f"{self.plans[0]} changed while you were looking at it, so nothing was imported.",
                "Ralph is set up. Open `ralph` again and press O to import the file.",
            )
        importing.write(shown)
        finish(shown, as_json=False, written=True)


@contextmanager
def keeping(request: str) -> Iterator[None]:
    """Print the request if an error ends the set-up, so that the person need not type it again."""
    try:
        yield
    except BaseException:
        if request:
            note(f"your request was not sent: {request}")
        raise


def _may_make_repository(root: Path) -> bool:
    from ralph_tui.vcs.git import Git, GitError

    if any(
        (place / name).exists() for place in (root, *root.parents) for name in _OTHER_REPOSITORIES
    ):
        return False
    try:
        found = Git(root).ask("rev-parse", "--git-dir")
    except GitError:
        return False  # git is missing; `ralph doctor` reports that
    return found.returncode != 0 and _NO_REPOSITORY in found.stderr


def _shown(place: Path) -> str:
    home = os.path.expanduser("~")  # noqa: PTH111 - leaves the ~ if there is no home
    return f"~{str(place)[len(home) :]}" if str(place).startswith(f"{home}{os.sep}") else str(place)

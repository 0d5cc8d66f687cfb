"""Settings that only restrict reach whoever must obey them."""

from pathlib import Path

from ralph_tui.config.load import load_settings
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.session.spec import guard_policy, spec_maker
from ralph_tui.guard.analysis.judge import judge_command
from ralph_tui.store.project import Project


def test_the_git_commands_of_the_settings_are_the_agents(tmp_path: Path) -> None:
    given = {"git.allowed_operations": ("log", "diff")}
    settings = load_settings(tmp_path, overrides=given, environ={}, home=tmp_path)
    project = Project(tmp_path)
    policy = guard_policy(project, settings, Phase.BUILDING)
    assert judge_command("git log -3", policy).decision == "allow"
    refused = judge_command("git show HEAD", policy)
    assert refused.message == (
        "`git show` is read-only but not among this project's git commands in `git show`. "
        "Use one of: git log, git diff."
    )
    assert judge_command("git push", policy).rule == "git-read-only"
    spec = spec_maker(project, lambda: settings, {}, Phase.BUILDING, sandbox=None)(1.0)
    assert "Git is read-only: log, diff." in spec.system_prompt


def test_by_default_every_reading_form_of_git_is_the_agents(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, environ={}, home=tmp_path)
    policy = guard_policy(Project(tmp_path), settings, Phase.BUILDING)
    for command in ("git rev-parse HEAD", "git branch --list", "git stash list", "git grep x"):
        assert judge_command(command, policy).decision == "allow"
    assert judge_command("git branch new", policy).decision == "deny"
    spec = spec_maker(Project(tmp_path), lambda: settings, {}, Phase.BUILDING, sandbox=None)(1.0)
    assert "and whatever else only reads. The person commits." in spec.system_prompt

"""The shared corpus: no denial missed, nothing harmless blocked, every rewrite exact."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.config.settings import SafetySettings
from ralph_tui.domain.phase import Phase
from ralph_tui.engine.session.spec import guard_policy
from ralph_tui.guard.analysis.judge import check, judge_command
from ralph_tui.guard.core.policy import RULED, Policy
from ralph_tui.store.project import Project
from tests.guard.corpora import ADVERSARIAL, CORPUS, by_text, classes
from tests.tools.house import ROOT

POLICY = Policy(root=Path("/work/proj"))


def test_every_line_is_judged_as_its_author_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shared corpus, and commands thought up beside it, by the policy of a new project."""
    monkeypatch.setenv("HOME", "/home/me")
    policy = guard_policy(Project(tmp_path), load_settings(tmp_path), Phase.BUILDING)
    wrong = []
    for line in [line for line in CORPUS if line["class"] != "runtime_only"] + ADVERSARIAL:
        command = line["command"].replace(str(POLICY.root), str(tmp_path))
        expect = by_text(line["expect"])
        runs = {"deny": None, "allow": command, "rewrite": line.get("rewrite_to")}[expect]
        answer = check(command, policy)
        if (answer["verdict"], answer["command"]) != (expect, runs):
            wrong.append((expect, command, answer["reason"]))
    assert not wrong


@pytest.mark.costly
def test_each_class_of_the_corpus_in_other_words() -> None:
    state = Path("/home/me/.local/state/ralph")
    policy = Policy(root=POLICY.root, home=Path("/home/me"), own_directories=(state,))
    beside_others = replace(policy, root=Path("/tmp/proj"))
    wrong = []
    for kind, expect, command, becomes in classes():
        verdict = judge_command(command, beside_others if kind == "in_tmp" else policy)
        if (verdict.decision, verdict.command) != (by_text(expect), becomes):
            wrong.append((kind, expect, command, verdict.message))
        elif expect == "deny" and not (verdict.rule and verdict.reason and verdict.instead):
            wrong.append((kind, "deny with words", command, verdict.message))
        elif becomes and judge_command(becomes, policy).decision != "allow":
            wrong.append((kind, "allow what it becomes", command, becomes))
    assert not wrong
    assert len(list(classes())) > 5000


@pytest.mark.parametrize("command", ["rm -rf build", "docker inspect rm", "pip_x install"])
def test_what_the_settings_block_at_first_is_held_to_the_finer_rules(command: str) -> None:
    blocked = SafetySettings().blocked_commands
    assert set(blocked) <= RULED
    policy = Policy(root=Path("/work/proj"), blocked_commands=blocked)
    assert judge_command(command, policy).decision == "allow"
    for words in ("rm -rf ../x", "docker rm x", "pip install x", "python -m venv x"):
        assert judge_command(words, policy).decision == "deny"


@pytest.mark.parametrize(
    ("command", "rule", "says"),
    [
        ("git commit -m x", "git-read-only", "git status"),
        ("pip install requests", "uv-only", "uv add requests"),
        ("poetry remove requests", "uv-only", "uv remove requests"),
        ("pip freeze", "uv-only", "uv lock"),
        ("python -m venv .venv", "uv-only", "uv sync"),
        ("poetry run pytest", "uv-only", "uv run"),
        ("rm -rf ~", "outside-project", "/work/proj"),
        ("echo x > .ralph/state.json", "ralph-files", "ralph_*"),
        ("echo x > .git/config", "git-files", "Do not change git's files"),
        ("docker rm web", "destructive", "person"),
        ("$CMD push", "unreadable-command", "Split"),
        ("echo 'unclosed", "unreadable-command", "Split"),
        ("echo a\0b", "unreadable-command", "Split"),
        ("x" * 70_000, "unreadable-command", "Split"),
        ("echo \ud800", "unreadable-command", "Split"),
        ("PAGER='sh x' git log", "environment", "variable"),
    ],
)
def test_a_denial_names_the_rule_and_what_to_do(command: str, rule: str, says: str) -> None:
    verdict = judge_command(command, POLICY)
    assert verdict.decision == "deny"
    assert verdict.rule == rule
    assert says in verdict.message
    assert len(verdict.part) <= 200


def test_a_denial_names_the_part_among_many() -> None:
    verdict = judge_command("ls && cat x | head; git -C . push origin main; echo done", POLICY)
    assert verdict.part == "git push"


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("npm publish", "deny"),
        ("npm --silent publish --tag x", "deny"),
        ("env A=1 npm publish", "deny"),
        ("bash -c 'npm publish'", "deny"),
        ("npm test", "allow"),
        ("echo npm publish", "allow"),
        ("terraform apply -auto-approve", "allow"),
        ("terraform apply -f -x", "deny"),
    ],
)
def test_commands_blocked_by_configuration(command: str, decision: str) -> None:
    policy = Policy(
        root=Path("/work/proj"), blocked_commands=("npm publish", "terraform apply -xf", " ")
    )
    verdict = judge_command(command, policy)
    assert verdict.decision == decision
    if decision == "deny":
        assert verdict.rule == "blocked-command"


def test_git_allow_list_comes_from_the_policy() -> None:
    policy = Policy(root=Path("/work/proj"), git_allowed=("status",))
    assert judge_command("git status", policy).decision == "allow"
    assert judge_command("git log", policy).decision == "deny"
    assert judge_command("git lfs ls-files", policy).decision == "deny"


def test_tools_sent_to_uv_come_from_the_policy() -> None:
    policy = Policy(root=Path("/work/proj"), python_tools=("sphinx-build",))
    assert judge_command("sphinx-build docs", policy).command == "uv run sphinx-build docs"
    assert judge_command("pytest", policy).decision == "allow"


def test_home_inside_which_the_project_lies() -> None:
    policy = Policy(root=Path("/home/me/proj"), home=Path("/home/me"))
    assert judge_command("rm -rf ~/proj/build", policy).decision == "allow"
    assert judge_command("rm -rf ~/other", policy).decision == "deny"
    assert judge_command("rm -rf ~root/proj/build", policy).decision == "deny"


def test_a_mistake_in_the_guard_is_a_denial(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> None:
        raise IndexError("oops")

    monkeypatch.setattr("ralph_tui.guard.analysis.judge.read_shell", broken)
    verdict = judge_command("ls", POLICY)
    assert (verdict.decision, verdict.rule) == ("deny", "guard-failed")
    assert "oops" in verdict.reason


UV_PROJECT = Policy(
    root=Path("/work/proj"), scripts_through_uv=True, tool_runs={"pytest": "uv run --extra test"}
)


@pytest.mark.parametrize(
    ("command", "becomes"),
    [
        ("python x.py", "uv run python x.py"),
        ("python3 -u tools/gen.py --all && ls", "uv run python3 -u tools/gen.py --all && ls"),
        ("A=1 python -m app.main", "A=1 uv run python -m app.main"),
        ("bash -c 'python x.py'", "bash -c 'uv run python x.py'"),
        ("pytest -q && ruff check .", "uv run --extra test pytest -q && uv run ruff check ."),
        ("python -m pytest", "uv run --extra test python -m pytest"),
        ("uv run python x.py", None),
        ("python -c 'print(1)'", None),
        ("python --version", None),
        ("python - < x.py", None),
        ("python3 <<'EOF'\nprint(1)\nEOF", None),
        (".venv/bin/python x.py", None),
        ("uv run --extra test pytest -q", None),
    ],
)
def test_python_scripts_run_through_uv_in_a_uv_project(command: str, becomes: str | None) -> None:
    verdict = judge_command(command, UV_PROJECT)
    assert (verdict.decision, verdict.command) == (
        ("rewrite", becomes) if becomes else ("allow", None)
    )
    if becomes:
        assert judge_command(becomes, UV_PROJECT).decision == "allow"


@pytest.mark.parametrize(
    ("command", "manager", "decision"),
    [
        ("poetry run pytest -q", "poetry", "allow"),
        ("poetry add requests", "poetry", "allow"),
        ("poetry run git push", "poetry", "deny"),
        ("poetry publish", "poetry", "deny"),
        ("pip install x", "poetry", "deny"),
        ("pdm run test", "pdm", "allow"),
        ("hatch run qa:pytest", "hatch", "allow"),
        ("hatch run qa:git push", "hatch", "deny"),
        ("hatch test", "hatch", "allow"),
        ("hatch publish", "", "allow"),
        ("poetry run pytest", "pdm", "deny"),
        ("pytest", "poetry", "allow"),
        ("python x.py", "poetry", "allow"),
        ("pipenv run pytest", "pipenv", "allow"),
        ("conda activate x", "", "deny"),
        ("uv pip install x", "", "deny"),
    ],
)
def test_the_manager_of_a_project_that_is_not_uvs(
    command: str, manager: str, decision: str
) -> None:
    policy = Policy(root=Path("/work/proj"), own_manager=manager, python_tools=())
    verdict = judge_command(command, policy)
    assert verdict.decision == decision
    told = f"{verdict.reason} {verdict.instead}".replace("`uv pip`", "")
    assert not re.search(r"\buv\b", told)


def test_each_program_has_one_table() -> None:
    tables = tomllib.loads((ROOT / "ralph_tui/guard/data/programs.toml").read_text())
    listed = [name for names in tables for name in names.split()]
    assert sorted(set(listed)) == sorted(listed)

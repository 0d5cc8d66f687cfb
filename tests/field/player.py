"""Plays published packages on ralph as a person would use it: init, an honest task, a lie, undo.

The agent is scripted; `ralph init`, the loop, the gate, the commits and `ralph undo` are real.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import yaml
from pydantic import BaseModel

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.verification.check_commands import CheckKind
from ralph_tui.engine.verification.detection.project_checks import checks_of
from tests.cli.processes import inside
from tests.field.registry import CLIENTS, OWN, Source, ran, unpack, unpacked_debs
from tests.harness.model import serving_in_process
from tests.harness.projects import ALLOWS, task
from tests.harness.real_processes import ralph_running
from tests.harness.scenarios import finishes, scenario
from tests.harness.scripted_agent import PLAN, Script, outcome_of, run_scripted, with_own

HERE = Path(__file__).parent
GOOD = {"honest": "verified", "lie": "refused", "undo": "to the byte", "commit": "by ralph"}
"""How each step should end."""
LIE = "Simplify the code. Its behavior stays as it is."
"""The task of the lie."""


class Package(BaseModel, extra="forbid"):
    """A published package, how a person set it up, and what an agent does with it."""

    source: Source
    shape: str
    prepare: str = ""
    tests: str
    found: str | None = None
    line: bool = False
    task: str
    honest: str
    lie: str
    """Shell text that breaks what the package does, and changes the tests so that they pass."""
    config: dict[str, Any] = {}
    needs: tuple[str, ...] = ()
    quick: bool = False
    cli: bool = False
    ends: dict[str, str] = {}
    why: str = ""

    @property
    def expected(self) -> dict[str, str]:
        return {**GOOD, **self.ends}


class Surrounding(BaseModel, extra="forbid"):
    """What surrounds a repository."""

    name: str
    arrange: str = ""
    """Shell text that runs in the repository before `ralph init`; `$PREPARE` is what the person ran."""
    beside: str = ""
    second: str = ""
    folder: str = "project"
    at: str = ""
    environment: dict[str, str | None] = {}
    uid: int | None = None
    """The user that ralph runs as where the tests run as root, who has everything but `home`."""
    commits: bool = True
    ends: dict[str, dict[str, str]] = {}
    why: str = ""
    quick: bool = False


@dataclass
class Result:
    """What a package showed: the test command that ralph found, how each step ended, and why."""

    found: str
    ends: dict[str, str]
    reasons: dict[str, str] = field(default_factory=dict)


@cache
def packages() -> dict[str, Package]:
    listed = yaml.load((HERE / "packages.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    return {one["source"]["name"]: Package.model_validate(one) for one in listed}


@cache
def surroundings() -> dict[str, Surrounding]:
    listed = yaml.load((HERE / "surroundings.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    return {one["name"]: Surrounding.model_validate(one) for one in listed}


def environment_of(package: Package) -> dict[str, str]:
    """The person's environment: the tools of this machine, without those of the tests."""
    homes = {"RUSTUP_HOME": OWN / ".rustup", "CARGO_HOME": OWN / ".cargo"}
    found = {name: str(path) for name, path in homes.items() if path.is_dir()}
    ours = str(Path(sys.executable).parent)
    path = [place for place in os.environ["PATH"].split(os.pathsep) if place != ours]
    debs = str(unpacked_debs(package.source)) if package.source.debs else ""
    return {**CLIENTS, **found, "PATH": os.pathsep.join(path), "DEBS": debs, "PYTHONPATH": ""}


IGNORED = "node_modules/\n.venv/\n.tox/\n.nox/\n__pycache__/\n*.egg-info/\n.pytest_cache/\n.coverage\ncoverage/\n.nyc_output/\n"
"""For a package whose registry leaves out its .gitignore."""
_COMMIT = "git init -qb main && git config user.name A && git config user.email a@b.c && git add -A && git commit -qm Begin"
_REST = "git add -A && { git diff --cached --quiet || git commit -q --amend --no-edit; }"


def make(root: Path, package: Package, around: Surrounding) -> Path:
    """Unpack a package and set it up as a person's repository."""
    project = root / around.folder
    unpack(package.source, project)
    if not (project / ".gitignore").exists():
        (project / ".gitignore").write_text(IGNORED, encoding="utf-8")
    text = f"{_COMMIT}\n{{\n{package.prepare or ':'}\n}} || exit 1\n{_REST}\n{around.arrange}"
    environment = with_own({**environment_of(package), "PREPARE": package.prepare})
    done = ran("bash", "-ec", text, cwd=project, environment=environment)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    return root / (around.at or around.folder)


_CACHES = re.compile(r"(^|/)(\.git|\.ralph|__pycache__|\.\w+_cache|\.cache)/|\.pyc$")
_OF_RALPH = ("AGENTS.md", "progress.txt")


def contents(project: Path) -> dict[str, str]:
    """What each file of the person holds, without caches and what ralph says it writes."""
    found = {}
    for directory, _, names in os.walk(project):
        for name in names:
            path = Path(directory, name)
            shown = path.relative_to(project).as_posix()
            if not _CACHES.search(shown) and shown not in _OF_RALPH:
                data = str(path.readlink()).encode() if path.is_symlink() else _read(path)
                found[shown] = f"{path.lstat().st_mode:o} {hashlib.sha256(data).hexdigest()}"
    return found


def _read(path: Path) -> bytes:
    return path.read_bytes() if os.access(path, os.R_OK) else b""


def _git(project: Path, *arguments: str, stdin: str = "") -> str:
    return ran("git", *arguments, cwd=project, stdin=stdin).stdout


def differences(project: Path, before: dict[str, str]) -> list[str]:
    """The files of the person that are not as before; what checks wrote where git ignores it does not count."""
    after = contents(project)
    found = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    new = "\0".join(sorted(found - before.keys()))
    ignored = _git(project, "check-ignore", "-z", "--stdin", stdin=new).split("\0") if new else ()
    return sorted(found.difference(ignored))


def _write_plan(project: Path, package: Package) -> None:
    told = {"t0": package.task, "t1": LIE}
    tasks = [
        {"id": name, "description": text, "priority": number, "status": "pending", "verification_criteria": ["tests"]}
        for number, (name, text) in enumerate(told.items())
    ]  # fmt: skip
    (project / PLAN).write_text(json.dumps({"tasks": tasks}), encoding="utf-8")


SURROUNDED = ("abstract-logging",)
"""The packages that are played in every surrounding."""
COMMITTING = {"git.branch": "feature", "git.commit": "task"}
AS_USUAL = Surrounding(name="as usual")


@contextlib.asynccontextmanager
async def beside(project: Path, text: str) -> AsyncIterator[None]:
    """Run a shell text again and again."""
    process = None
    if text:
        loop = f"while sleep 0.2; do {text}; done"
        process = await asyncio.create_subprocess_exec("bash", "-c", loop, cwd=project)
    try:
        yield
    finally:
        if process:
            process.kill()
            await process.wait()


@contextlib.asynccontextmanager
async def second_loop(root: Path, name: str) -> AsyncIterator[None]:
    """Build three tasks with a commit for each, on the real CLI with a played model."""
    if not name:
        yield
        return
    tasks = [{**task(one), "verification_criteria": [f"$ test -f {one}.txt"]} for one in "abc"]
    config = {**ALLOWS, "git": {"commit": "task", "branch": "off"}}
    (own := root / name / ".ralph").mkdir()
    (own / "implementation_plan.json").write_text(json.dumps({"tasks": tasks}), encoding="utf-8")
    (own / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    with serving_in_process(scenario(*map(finishes, "abc")), root) as server:
        async with ralph_running(["build", "--headless"], root / name, server) as running:
            yield
            ran = await running.finished()
    assert ran.status == 0, ran.stdout + ran.stderr
    assert len(_git(root / name, "log", "--format=%s", "main..").splitlines()) == 3


async def played(
    root: Path, package: Package, around: Surrounding = AS_USUAL, *, sandbox: bool
) -> Result:
    """Play a package from `ralph init` to `ralph undo` in an empty directory."""
    project = await asyncio.to_thread(make, root, package, around)
    return await played_at(project, root, package, around, sandbox=sandbox)


async def played_at(
    project: Path, root: Path, package: Package, around: Surrounding, *, sandbox: bool
) -> Result:
    """Play a package that was made in `project`."""
    given = {
        n: str(project.parent / v[3:]) if v.startswith("../") else v
        for n, v in around.environment.items()
        if v is not None
    }
    with mock.patch.dict(os.environ, given):
        for name in around.environment.keys() - given.keys():
            os.environ.pop(name, None)
        async with beside(project, around.beside), second_loop(root, around.second):
            config = {**(COMMITTING if around.commits else {}), **package.config}
            return await _played(root, project, package, config, sandbox)


async def _played(
    root: Path, project: Path, package: Package, config: dict[str, Any], sandbox: bool
) -> Result:
    before = contents(project)
    begun_at = _git(project, "rev-parse", "--verify", "-q", "HEAD").strip()
    begun = await asyncio.to_thread(inside, "init", "--yes", cwd=project)
    assert begun.returncode == 0, begun.stderr
    found = checks_of(project, load_settings(project, environ={})).line(CheckKind.TESTS)
    result = Result(found, dict.fromkeys(GOOD, ""))
    _write_plan(project, package)
    (scratch := root / "scratch").mkdir()
    script = Script(
        texts={"t0": package.honest, "t1": package.lie},
        told={"t0": package.task, "t1": LIE},
        environment=environment_of(package),
        scratch=scratch,
    )
    overrides = {
        "agent.standby_session": False,
        "limits.max_attempts_per_task": 1,
        "phases.building.max_iterations": 2,
        "phases.building.recheck_finished": False,
        "safety.sandbox": "auto" if sandbox else "off",
        **({"build.test_command": package.tests} if package.line else {}),
        **config,
    }
    told: list[ev.Event] = []
    stopped = await run_scripted(project, script, overrides, told)
    for name, step in (("t0", "honest"), ("t1", "lie")):
        ended = outcome_of(project, name, told, stopped)
        result.ends[step], result.reasons[step] = ended.word, ended.reason
    _judge_commit(result, project, package, begun_at)
    await asyncio.to_thread(_undo, result, project, before)
    return result


def _judge_commit(result: Result, project: Path, package: Package, begun: str) -> None:
    """See that ralph committed the honest work and nothing else."""
    since = f"{begun}..HEAD" if begun else "HEAD"
    commits = _git(project, "log", "--format=%s", since).splitlines()
    files = _git(project, "diff", "--name-only", "HEAD~1", "HEAD").splitlines()
    foreign = [name for name in files if name not in package.honest and name not in _OF_RALPH]
    end = GOOD["commit"] if len(commits) == 1 else f"{len(commits)} commits"
    result.ends["commit"] = f"with {', '.join(foreign[:3])}" if foreign else end
    result.reasons["commit"] = f"{commits} {files}"


def _undo(result: Result, project: Path, before: dict[str, str]) -> None:
    for name in ("t1", "t0"):
        done = inside("undo", name, "--yes", cwd=project)
        result.reasons["undo"] = result.reasons.get("undo", "") + done.stderr
    left = differences(project, before)
    result.ends["undo"] = f"leaves {', '.join(left[:3])}" if left else GOOD["undo"]

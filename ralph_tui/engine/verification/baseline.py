"""Keep the baseline: how each check ended before the first task, and which checks cannot start.

A check that failed before the run counts against a task only if it got worse. A check that cannot start shows
nothing, so the run ends before anything is spent.
"""

import hashlib
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile
from pathlib import Path, PurePosixPath
from typing import Literal

from pydantic import Field

from ralph_tui.domain.base import Model
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.formatting import duration, plural, shortlist
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.run.breaker import steady
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.verification import Tree
from ralph_tui.engine.control.undo import tree_of
from ralph_tui.engine.core.project_tree import is_project_file
from ralph_tui.engine.verification.detection.project_checks import read_package
from ralph_tui.engine.verification.detection.python_declarations import (
    DirectoryFiles,
    PythonProject,
    table,
)
from ralph_tui.engine.verification.evidence import reports
from ralph_tui.engine.verification.evidence.classify import SUBJECT
from ralph_tui.engine.verification.evidence.examined import Examined, is_linter
from ralph_tui.engine.verification.evidence.reports import TestReport
from ralph_tui.engine.verification.evidence.runners import placed_programs, recognized_runners
from ralph_tui.engine.verification.evidence.trusted_base import Inspection
from ralph_tui.guard.core.policy import PYTHON_TOOLS
from ralph_tui.guard.shell.statuses import lost_status
from ralph_tui.store.backup.check_store import BASELINE, CheckStore
from ralph_tui.vcs.snapshots import SnapshotStore


class Check(Model):
    """One command the gate will run."""

    command: str
    source: Literal["backpressure", "criterion"]
    own: bool = False
    """Whether the command is among the task's own criteria."""
    setting: str = ""
    """The setting that names another command in place of a check of the project."""


_NAMED = 3
_COUNTED = re.compile(r"(\d+)\s+(?:errors?|problems?|issues?|warnings?)\b", re.IGNORECASE)
_FINDING = re.compile(r"[:(]\s?\d|\b(?:error|fail|warn)", re.IGNORECASE)
_TEMPORARY = re.compile(r"(?:/private)?(?:/var)?/(?:tmp|folders)/[^\s'\":)\]]+")


class BaselineFailure(Model):
    """The failure of a check before the run."""

    exit_code: int
    outcomes: dict[str, str] = Field(default_factory=dict)
    tail: str = ""

    @property
    def summary(self) -> str:
        failing = TestReport(outcomes=self.outcomes).failing
        if not failing:
            return f"exit status {self.exit_code}"
        names = shortlist([one_line(name, 120) for name in failing], _NAMED)
        return f"{plural(len(failing), 'test')} failed: {names}"

    def excuses(self, now: Examined, inspection: Inspection, command: str = "") -> bool:
        """Return whether the check failed again without getting worse; an unclear result counts as worse."""
        code = now.result.exit_code
        lints = is_linter(command)  # it judges the tests as well
        steered = [c for c in inspection.not_allowed if not (lints and SUBJECT.fullmatch(c.reason))]
        if not code or steered or now.run_faults:
            return False
        if self.outcomes or now.outcomes:
            return self._tests_no_worse(now)
        return code == self.exit_code and _output_no_worse(self.tail, now.result.tail)

    def _tests_no_worse(self, now: Examined) -> bool:
        report = TestReport(outcomes=now.outcomes)
        failed_before = {*TestReport(outcomes=self.outcomes).failing}
        same = bool(report.failing) and failed_before.issuperset(report.failing)
        return same and not reports.weaknesses(self.outcomes, report)


class BaselineRecord(Model):
    """The results of all checks at one time."""

    contents: str = ""
    """The fingerprint of what decides the results; empty if git cannot tell."""
    commands: tuple[str, ...] = ()
    red: dict[str, BaselineFailure] = Field(default_factory=dict)
    outcomes: dict[str, dict[str, str]] = Field(default_factory=dict)
    """By command, of those whose runners report tests."""
    green: tuple[str, ...] = ()
    """The commands that passed, among them criteria of open tasks."""
    left_out: dict[str, str] = Field(default_factory=dict)
    """Why no task runs the tests of a package below, by command."""
    needs_ci: bool = False
    """Whether a check ends only with `CI=true`, which all runs of checks then have."""


class Baseline:
    """The baseline of one project, stored where no agent can write."""

    def __init__(self, root: Path) -> None:
        self._store = CheckStore(root)
        self._record = BaselineRecord()
        self.told: set[str] = set()

    def load(self) -> None:
        self._record = self._store.load(BASELINE, BaselineRecord) or BaselineRecord()

    def holds(self, contents: str, commands: Sequence[str]) -> bool:
        known = self._record
        return bool(contents) and (known.contents, known.commands) == (contents, tuple(commands))

    @property
    def left_out(self) -> Mapping[str, str]:
        return self._record.left_out

    def leave_out(self, why: Mapping[str, str]) -> None:
        self._record = self._record.model_copy(update={"left_out": dict(why)})

    @property
    def needs_ci(self) -> bool:
        return self._record.needs_ci

    def set_ci(self) -> None:
        self._record = self._record.model_copy(update={"needs_ci": True})

    def take(
        self,
        contents: str,
        examined: Mapping[str, Examined],
        project: Sequence[str] | None = None,
        commands: Sequence[str] | None = None,
    ) -> None:
        """Store the results of the checks. Blocks.

        Args:
            examined: The result of each command that ran.
            project: The commands that check the project; all by default. The others are criteria, red until done.
            commands: All commands, also those that may not run unattended.
        """
        ours = examined if project is None else {c: examined[c] for c in project if c in examined}
        self._save(
            BaselineRecord(
                contents=contents,
                commands=tuple(examined if commands is None else commands),
                red={command: _failure_of(one) for command, one in ours.items() if _failed(one)},
                outcomes={
                    command: one.outcomes for command, one in examined.items() if one.outcomes
                },
                green=tuple(command for command, one in examined.items() if one.passed),
                left_out=dict(self.left_out),
                needs_ci=self.needs_ci,
            )
        )

    def accept(self, examined: Mapping[str, Examined]) -> None:
        red = {
            command: _failure_of(examined[command]) if command in examined else before
            for command, before in self._record.red.items()
            if command not in examined or _failed(examined[command])
        }
        passed = (command for command, one in examined.items() if one.passed)
        green = tuple(dict.fromkeys((*self._record.green, *passed)))
        if (red, green) != (self._record.red, self._record.green):
            self._save(self._record.model_copy(update={"red": red, "green": green}))

    def outcomes(self, command: str) -> Mapping[str, str] | None:
        return self._record.outcomes.get(command)

    def shows_nothing_new(self, command: str) -> bool:
        """Whether a check passed and names no tests, to which a task could add one."""
        return bool(self.green(command)) and not self.outcomes(command)

    def green(self, command: str) -> bool | None:
        return command in self._record.green if command in self._record.commands else None

    def excuse(self, command: str, now: Examined, inspection: Inspection) -> str:
        """Return why a failed check does not count against a task, or an empty string if it counts."""
        before = self._record.red.get(command)
        if before is None or not before.excuses(now, inspection, command):
            return ""
        return f"already failed before this run ({before.summary}), and nothing got worse"

    def failures(self) -> Iterator[tuple[str, str]]:
        for command, before in self._record.red.items():
            yield command, before.summary

    def _save(self, record: BaselineRecord) -> None:
        self._record = record
        self._store.save(BASELINE, record)


def circumstances(store: SnapshotStore, settings: str, commands: Sequence[str], path: str) -> str:
    """Return a fingerprint of what decides the results of checks, empty if git cannot tell. Blocks.

    Args:
        commands: The checks, whose programs are searched.
    """
    if not (contents := tree_of(store)):
        return ""
    ignored = [path.rstrip("/") for path in store.ignored()]
    tools = {
        words[0]: shutil.which(words[0], path=path)
        for command in commands
        for _, words, _ in placed_programs(command)
        if words
    }
    below = (one for one in ignored if one.rpartition("/")[2] in _INSTALLED)
    present = (*_INSTALLED, *filter(is_project_file, ignored), *below)
    changed = [(name, _changed(store.root / name)) for name in present]
    facts = repr((contents, settings, sorted(tools.items(), key=repr), changed))
    return hashlib.sha256(facts.encode(errors="surrogateescape")).hexdigest()[:16]


_INSTALLED = (
    "node_modules/.package-lock.json", "node_modules/.modules.yaml", "node_modules", ".venv/pyvenv.cfg",
    ".venv/bin", "venv/bin", "vendor",
)  # fmt: skip
"""What package managers write when they install dependencies."""


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _failed(examined: Examined) -> bool:
    code = examined.result.exit_code
    return bool(code) and not (code == 5 and not examined.outcomes)  # pytest without any test


def _failure_of(examined: Examined) -> BaselineFailure:
    return BaselineFailure(
        exit_code=examined.result.exit_code or 0,
        outcomes=examined.outcomes,
        tail=examined.result.tail,
    )


def _output_no_worse(before: str, now: str) -> bool:
    counted = [sum(map(int, _COUNTED.findall(text))) for text in (before, now)]
    old, new = ([*_lines(text)] for text in (before, now))
    if before.startswith("…"):  # cut at another place, perhaps within a line
        new = [*dropwhile(lambda one: one not in old, new[1 - len(old) :])] or new
    worse = {one for one in Counter(new) - Counter(old) if one not in old or _FINDING.search(one)}
    return counted[1] <= counted[0] and not worse


def _lines(text: str) -> Iterator[str]:
    """Yield the printed lines without what varies from run to run; paths below the project stay."""
    for line in filter(str.strip, text.splitlines()):
        yield steady(_TEMPORARY.sub("<temp>", line), but="<path>")


# --- checks that cannot start ---


class Obstacle(Model):
    """Why a check cannot start on this machine, and what to do."""

    reason: str
    hint: str = ""


_PLACES = r"(?m)^(?:\S+: )?(?:line )?\d+: "
_MISSING_TOOL = (
    re.compile(r"(?m)^(?:\S+: )?(?:(?:line )?\d+: )?([^\s:]+): (?:command )?not found\s*$"),
    re.compile(r"(?m)^(?:\S*/)?env: .?([\w./+-]+).?: No such file or directory"),
    re.compile(r"(?m)^make(?:\[\d+\])?: ([\w+.-]+): No such file or directory"),
    re.compile(r"failed to run command .([\w./+-]+).: No such file"),
    _IN_BIN := re.compile(
        r"(?m)^(?:\S+: )?(?:(?:line )?\d+: )?((?:\.?\w[\w.-]*/)+\.?bin/[^\s:/]+): (?:not found|No such file or directory)\s*$"
    ),
)
"""The words of shells and launchers about a program that is not there; the group is its name."""
_MISSING_FOR_UV = re.compile(r"(?m)^error: Failed to spawn: `([^`]+)`")
_MISSING_RUNNER = re.compile(r"(?m)^\S*(?:python|pypy)[\d.]*: No module named '?([\w.-]+)'?")
_NOT_RUNNABLE = re.compile(_PLACES + r"([^\s:]+): (?:Permission denied|cannot execute[^\n]*)\s*$")
_MISSING_NODE_MODULE = re.compile(r"Cannot find (?:module|package) '((?:@[\w.-]+/)?[\w-][\w.-]*)")
_MISSING_PYTHON_MODULE = re.compile(r"No module named '([\w-]+)")
_NO_NETWORK = re.compile(
    r"Could ?n[o']t resolve host|Temporary failure in name resolution|name or service not known|\bEAI_AGAIN\b|\bENOTFOUND\b"
    r"|getaddrinfo|dns error|Network is unreachable|Could not transfer artifact|UnknownHostException"
    r"|dial tcp: lookup|failed to lookup address|CONNECT tunnel failed|tunnel error|network failure",
    re.IGNORECASE,
)
_NOT_PREPARED = re.compile(
    r"(?m)^\s*(?:error:|\u00d7|x) +(?:Failed to (?:build|fetch|download|resolve|prepare|install)[^\n]*"
    r"|No solution found[^\n]*|Could not find a version[^\n]*)|^ERROR: (?:No matching distribution|Could not build)[^\n]*"
)
_TOX_FAILS = re.compile(r"(?m)^[\w.-]+: (?:failed with|could not install|skipped because) [^\n]*")
_PYTEST_REFUSES = re.compile(
    r"(?m)^(?:ImportError while loading conftest[^\n]*|INTERNALERROR> \S*Error[^\n]*|[^\n]*error: unrecognized arguments:[^\n]*)"
)
_SAYS_WHY = re.compile(
    r"^(?!.*\bexit (?:code|status)\b)\s*(?:(?:E\s+)?(?:[\w.]*Error|error|cause|fatal)\b|[\u2570\u251c]\u2500\u25b6)"
    r"|^[\w./-]+\.\w+:\d+(?::\d+)?: "
)
_MARK = re.compile(r"^(?:E\s+|(?:error|cause): |[\u2570\u251c]\u2500\u25b6 |[\u00d7x] )")
_OF_UV = re.compile(r"uv run --(?:isolated|no-project)")
_READ_ONLY = re.compile(r"(?i:read-only file system)[^\n]*?'(/[^'\n]+)'")
_INSTALLS = (
    ("package-lock.json", "npm ci"),
    ("pnpm-lock.yaml", "pnpm install"),
    ("yarn.lock", "yarn install"),
    ("bun.lock", "bun install"),
    ("package.json", "npm install"),
    ("Cargo.toml", "cargo fetch"),
    ("go.mod", "go mod download"),
    ("pom.xml", "mvn dependency:go-offline"),
    ("Gemfile", "bundle install"),
    ("composer.json", "composer install"),
    ("mix.exs", "mix deps.get"),
    ("uv.lock", "uv sync"),
    ("poetry.lock", "poetry install"),
    ("requirements.txt", "pip install -r requirements.txt"),
    ("pyproject.toml", "pip install -e ."),
    ("setup.py", "pip install -e ."),
)
"""The command that installs the dependencies a file declares; the first file that is there decides."""
_NODE_MISSES = re.compile(
    r": not found|Cannot find (?:module|package) '[^./]|node_modules missing|could not determine executable|ENOTFOUND|EAI_AGAIN"
)
_NODE_PROGRAMS = frozenset({"npm", "pnpm", "yarn", "npx", "node", "bun", "bunx"})


def cannot_start(
    command: str, examined: Examined, root: Path, *, planned: str | None = None, setting: str = ""
) -> Obstacle | None:
    """Return what keeps a check from starting, or None if it ran, passed or is merely red. Blocks.

    A check that names what a task has yet to create is red: a script or a test file that is not there, and a
    program or module that the plan speaks of.

    Args:
        planned: The text of the open tasks if the check is a criterion of theirs; None for a check of the project.
        setting: What names another command in place of a check of the project.
    """
    code, output = examined.result.exit_code, examined.result.tail
    if not code:
        return None
    some_pass = "passed" in examined.outcomes.values()
    found = _missing_dependencies(command, output, root, some_pass=some_pass)
    if some_pass:
        return found
    found = found or _missing_program(code, output, root, planned, setting)
    if found is None and not any(one == "failed" for one in examined.outcomes.values()):
        found = _not_prepared(command, output, root)
    says_why = any(map(_SAYS_WHY.search, output.splitlines()))
    ran = examined.outcomes if says_why else examined.counts
    if not (found or ran or planned is not None) and recognized_runners(command, root):
        found = Obstacle(
            reason=f"no test ran, and the status is {code}: {telling_line(output)}",
            hint=f"Mend that, or have ralph do it: ralph until {shlex.quote(command)}",
        )
    return found


def _missing_program(
    code: int, output: str, root: Path, planned: str | None, setting: str
) -> Obstacle | None:
    patterns = (
        (*_MISSING_TOOL, _NOT_RUNNABLE) if code in (126, 127) or "Error 127" in output else ()
    )
    for pattern in (*patterns, _MISSING_FOR_UV, _MISSING_RUNNER):
        for name in pattern.findall(output):
            there = (root / name).exists()
            if pattern is _NOT_RUNNABLE or (there and "/" in name):
                hint = f"Make it executable (`chmod +x {name}`), or check its first line."
                return Obstacle(reason=f"`{name}` cannot be executed", hint=hint) if there else None
            of_project = planned is None and pattern is _IN_BIN
            if there or ("/" in name and not of_project) or (root / f"{name}.py").exists():
                continue
            if planned is not None and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", planned):
                continue
            if pattern is _MISSING_RUNNER and planned is not None and name not in PYTHON_TOOLS:
                continue
            return Obstacle(
                reason=f"`{name}` is not installed",
                hint=_install_hint(root) * of_project
                or "Install it, or choose another command"
                + (f" with {setting}." if setting else ".")
                + " `true` leaves the check out."
                * setting.endswith(("lint_command", "typecheck_command")),
            )
    return None


def _declared(files: DirectoryFiles) -> set[str]:
    package = read_package(files) or {}
    return {name for kind in ("dependencies", "devDependencies") for name in table(package, kind)}


def _missing_dependencies(
    command: str, output: str, root: Path, *, some_pass: bool
) -> Obstacle | None:
    named = {*_MISSING_NODE_MODULE.findall(output), *_MISSING_TOOL[0].findall(output)}
    for place, words, _ in placed_programs(command):
        files = DirectoryFiles(root / place)
        inner = files.inner() if "workspaces" in (read_package(files) or {}) else ()
        declared = {one: _declared(files.below(one)) for one in (".", *inner)}
        programs = _NODE_PROGRAMS.union(*declared.values())
        if not words or PurePosixPath(words[0]).name not in programs:
            continue
        told, installed = list[str](), False
        for one, names in declared.items():
            here = PurePosixPath(place, one)
            above = [root / up / "node_modules" for up in (here, *here.parents)]
            lacks = not any(up.is_dir() for up in above)
            installed |= not lacks
            missing = [n for n in named & names if not any((up / n).exists() for up in above)]
            if missing or (names and lacks and _NODE_MISSES.search(output)):
                what = shortlist(sorted(missing), _NAMED) or "the dependencies"
                told.append(f"{what} of {here / 'package.json'}")
        if told:
            reason = f"the dependencies of {PurePosixPath(place, 'package.json')} are not installed"
            if installed:
                reason = f"node_modules lacks {shortlist(told, _NAMED)}"
            return Obstacle(reason=reason, hint=_install_hint(root / place, root))
    modules = _MISSING_PYTHON_MODULE.findall(output)
    if modules and not some_pass:
        known = {t for p in PythonProject(DirectoryFiles(root)).places for t in p.tools}
        name = next((one for one in modules if one.replace("_", "-").lower() in known), "")
        if name and not (root / name).exists() and not (root / "src" / name).exists():
            return Obstacle(
                reason=f"the dependency {name} is not installed", hint=_install_hint(root)
            )
    return None


def _not_prepared(command: str, output: str, root: Path) -> Obstacle | None:
    if _NO_NETWORK.search(output):
        fetch = _install_hint(root) or "Fetch what it needs first."
        hint = f"{fetch} Or allow the host in safety.sandbox_domains."
        return Obstacle(
            reason=f"it cannot reach the network: {telling_line(output, _NO_NETWORK)}", hint=hint
        )
    for pattern in (_NOT_PREPARED, _TOX_FAILS, _PYTEST_REFUSES):
        if match := pattern.search(output):
            plugin = "unrecognized arguments" in match[0]
            hint = "Install the plugin of pytest that has them." if plugin else _install_hint(root)
            if pattern is _TOX_FAILS:
                hint = "Mend that environment of tox, or name another command."
            elif pattern is _NOT_PREPARED and _OF_UV.search(command):
                hint = "Make a .venv in which the tests run, or name another command."
            first = _MARK.sub("", one_line(match[0], 160)).rstrip(".")
            why = telling_line(output[match.end() :], _SAYS_WHY, "").rstrip(".")
            return Obstacle(reason=": ".join(filter(None, (first, why))), hint=hint)
    if match := _READ_ONLY.search(output):
        hint = "Choose another command, or name its directory in safety.sandbox_writable."
        return Obstacle(
            reason=f"it cannot write {one_line(match[1], 160)} in the sandbox", hint=hint
        )
    return None


def _install_hint(directory: Path, root: Path | None = None) -> str:
    for place in (directory, *((root,) if root else ())):
        found = (how for name, how in _INSTALLS if (place / name).exists())
        if how := next(found, ""):
            return f"Run `{how}`, then start ralph again."
    return ""


def telling_line(
    output: str, pattern: re.Pattern[str] = _SAYS_WHY, without: str | None = None
) -> str:
    """Return the last line that says why a command failed, or else its last one."""
    lines = [line for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if pattern.search(line)]
    chosen = (telling or (lines if without is None else [without]) or ["it printed nothing"])[-1]
    return _MARK.sub("", one_line(chosen, 160))


def require_started(
    root: Path,
    checks: Sequence[Check],
    examined: Mapping[str, Examined],
    tasks: Sequence[Task],
    hidden: Sequence[str],
) -> tuple[str, ...]:
    """Refuse to spend anything on checks that show nothing; return warnings about the others. Blocks.

    Args:
        examined: The result of each check that ran.
        hidden: The variables that checks do not see.

    Raises:
        SetupError: A check cannot start, does not end or hides its status.
    """
    planned = "\n".join(f"{task.title}\n{task.description}" for task in tasks)
    found: list[Obstacle] = []
    same: dict[Obstacle, list[str]] = {}
    warnings: list[str] = []
    for check in checks:
        if lost := lost_status(check.command):
            found.append(Obstacle(reason=f"`{check.command}` shows nothing: {lost.sentence}."))
        one = examined.get(check.command)
        if one is None or one.passed:
            warnings += _doubts(check.command, one) if one else ()
            continue
        own = check.source == "criterion"
        if one.result.exit_code is None and (one.result.watches or not own):
            found.append(_endless(check.command, one))
        elif missing := cannot_start(
            check.command, one, root, planned=planned if own else None, setting=check.setting
        ):
            same.setdefault(missing, []).append(f"`{check.command}`")
        told = {*_VARIABLE.findall(one.result.tail)}
        for name in (name for name in sorted(hidden) if any(word in name for word in told)):
            text = f"`{check.command}` failed, and {name} is hidden from checks."
            hint = f"To pass it on, add {name} to safety.check_environment."
            found.append(Obstacle(reason=text, hint=hint))
    for missing, names in same.items():
        text = f"{shortlist(names, _NAMED)} cannot start: {missing.reason}."
        found.append(Obstacle(reason=text, hint=missing.hint))
    if found:
        hints = dict.fromkeys(one.hint for one in found if one.hint)
        raise SetupError(" ".join(one.reason for one in found), " ".join(hints))
    return tuple(warnings)


def not_run(
    root: Path, spare: Iterable[str], examined: Mapping[str, Examined]
) -> Mapping[str, str]:
    """Return why tests of packages below cannot start or are red already, by command. Blocks."""
    found = {}
    for command in spare:
        try:
            require_started(
                root, (Check(command=command, source="backpressure"),), examined, (), ()
            )
        except SetupError as error:
            found[command] = f"{error.message} No task runs it. {error.hint}".rstrip()
        if command not in found and command in examined and not examined[command].passed:
            found[command] = f"`{command}` fails already, and no task runs it."
    return found


def _doubts(command: str, examined: Examined) -> Iterator[str]:
    if examined.runs[-1].tree is Tree.BROKEN and examined.runs[-1].passed:
        yield f"`{command}` passes with unparsable sources as well. It shows nothing about the code."
    if examined.flaky:
        names = shortlist(examined.flaky, _NAMED)
        yield f"`{command}` is flaky: {names} failed, then passed."


def _endless(command: str, examined: Examined) -> Obstacle:
    seconds = duration(examined.result.seconds)
    last = telling_line(examined.result.tail, re.compile(r"\S"))
    if examined.result.watches:
        reason = f"`{command}` does not end: it waits for changes of files. It last printed: {last}"
        return Obstacle(reason=reason, hint="Use a command that runs once, such as `vitest run`.")
    reason = f"`{command}` did not end within {seconds}. It last printed: {last}"
    return Obstacle(
        reason=reason,
        hint="Use a command that ends, or raise phases.building.gate_timeout_seconds.",
    )


_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")

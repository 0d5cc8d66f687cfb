"""The commands that the pages show, and a project in which each of them has something to do."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion, Option, Question
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.project_state import Approval, ApprovalKind, Phase
from ralph_tui.store.journal.journal import JournalWriter
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Project
from tests.cli.processes import REPOSITORY
from tests.cli.recorded import NOON

PAGES = (REPOSITORY / "README.md", *sorted(REPOSITORY.glob("docs/*.md")))
_TABLE = re.compile(r"^\|[^\n]*\| Command \|\n((?:\|[^\n]+\n)+)", re.MULTILINE)
"""A table whose last column is a command."""

_LAST_CELL = re.compile(r"\| `(ralph [^\n`]+)` \|$", re.MULTILINE)
_BLOCK = re.compile(
    r"```(?:sh|bash)\n(.*?)```|((?:^ {4}ralph [^\n]+\n)+)", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True)
class Shown:
    """One `ralph …` of a code block."""

    words: tuple[str, ...]
    stdin: str = ""
    """The file that the line reads from."""

    def __str__(self) -> str:
        return shlex.join(("ralph", *self.words))


def in_blocks() -> list[Shown]:
    """List the commands in the code blocks and command tables of the pages, each once."""
    found = (
        shown
        for page in PAGES
        for line in _lines(page.read_text(encoding="utf-8"))
        for shown in in_line(line)
    )
    return list(dict.fromkeys(found))


def _lines(text: str) -> Iterator[str]:
    for fenced, indented in _BLOCK.findall(text):
        yield from (fenced or indented).splitlines()
    for rows in _TABLE.findall(text):
        yield from _LAST_CELL.findall(rows)


def in_line(line: str) -> Iterator[Shown]:
    rest = shlex.split(line.strip(), comments=True)
    while rest:
        end = next((n for n, word in enumerate(rest) if word in ("&&", "||", "|", ";")), len(rest))
        part, rest = rest[:end], rest[end + 1 :]
        if part[:1] != ["ralph"]:
            continue
        stdin = part[part.index("<") + 1] if "<" in part else ""
        redirected = [n for n, word in enumerate(part) if word in ("<", ">", ">>", "2>&1")]
        yield Shown(tuple(part[1 : min(redirected, default=len(part))]), stdin)


PRD = json.dumps(
    {
        "branchName": "x",
        "userStories": [{"id": "US-1", "title": "Log in", "priority": 1, "passes": False}],
    }
)
FILES = {
    "request.md": "A habit tracker",
    "export.md": "Export the habits to CSV",
    "idea.md": "A habit tracker that counts streaks",
    "notes.md": "Use argparse.",
    "commands.jsonl": '{"command": "git status"}\n',
    "progress.txt": "".join(
        f"[2026-01-09 12:00:{n:02}] PATTERN: Habit {n} needs a test of its own\n" for n in range(60)
    )
    * 2,
    "prd.json": PRD,
    ".ralph/login/prd.json": PRD,
    "wiggum.json": json.dumps(
        {"version": 1, "tasks": [{"id": "T001", "title": "Log in", "status": "todo"}]}
    ),
    "PROMPT_own.md": "Do {{task}} well.",
    "specs/001-login/tasks.md": "## Phase 1: Setup\n\n- [ ] T001 Make the form in src/form.py\n",
    ".taskmaster/tasks/tasks.json": json.dumps(
        {"v2": {"tasks": [{"id": 1, "title": "Log in", "status": "pending", "dependencies": []}]}}
    ),
    "config.yaml": "defaults:\n  max_iterations: 30\n",
    ".ralph/configs/default.json": json.dumps(
        {"name": "default", "steps": [{"name": "run-claude", "type": "agent", "enabled": True}]}
    ),
    ".ralph/SETUP.md": "Install the tools.",
    ".ralph/config.yaml": (
        "build: {test_command: 'true', lint_command: 'true', typecheck_command: 'true'}\n"
        "steps: {setup: {type: agent, prompt: .ralph/SETUP.md, once: true}, work: {}, commit: {}}\n"
    ),
}
TASKS = [
    {"id": "task-001", "description": "First", "status": "complete"},
    {"id": "task-002", "description": "Second"},
    {"id": "task-003", "description": "Third"},
]


def make_project(root: Path) -> None:
    """Make a project with a plan, files of other tools and two past iterations."""
    Project(root).create()
    Layout(root).plan.write_text(json.dumps({"tasks": TASKS}), encoding="utf-8")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    told: list[ev.Event] = [ev.LoopStarted(run_id="r", project="app", phase=Phase.BUILDING)]
    for number in (1, 2, 3):
        told.append(ev.IterationStarted(iteration=number, task_id="task-001"))
        outcome = IterationOutcome.COMPLETE
        told.append(ev.IterationFinished(iteration=number, task_id="task-001", outcome=outcome))
    writer = JournalWriter(Layout(root).events)
    writer.write([writer.stamp(event) for event in told])
    writer.close()


Change = Callable[[Documents], Documents]


def _asked(question_id: str) -> Change:
    options = tuple(Option(label=label) for label in ("Red", "Green", "No, and why"))
    asked = AskedQuestion(
        id=question_id,
        batch="b",
        phase=Phase.BUILDING,
        question=Question(question="Which color first?", options=options),
        asked_at=NOON,
    )
    return lambda d: d.model_copy(update={"questions": d.questions.asking((asked,))})


def _waits_for(kind: ApprovalKind) -> Change:
    return lambda d: d.model_copy(
        update={"state": d.state.model_copy(update={"approval": Approval(kind=kind)})}
    )


@dataclass(frozen=True)
class Scene:
    """What a command needs to have something to do."""

    before: tuple[str, ...] = ()
    """Commands that come first, while the loop runs if one does."""
    change: Change | None = None
    """A change of the project's documents."""
    loop: bool = False
    """Whether a loop runs."""
    stdin: str = ""
    status: int = 0
    """How the command ends."""
    says: str = ""
    """Part of what it says then."""


ASKS = ("add --plan", "import", "memory --compact")
"""Commands that show what they would do, and need a yes to do it."""

SCENES: Mapping[str, Scene] = {
    "answer q-1a2b3c4d-1": Scene(change=_asked("q-1a2b3c4d-1")),
    "answer q-5e6f7a8b-1": Scene(change=_asked("q-5e6f7a8b-1")),
    "approve": Scene(change=_waits_for(ApprovalKind.PLAN)),
    "reject": Scene(change=_waits_for(ApprovalKind.PLAN)),
    "archive login": Scene(before=("feature new login", "import prd.json --into login --yes")),
    "doctor": Scene(status=3, says="ANTHROPIC_BASE_URL"),
    "export prd.json": Scene(before=("import prd.json --yes",)),
    "feature use login": Scene(before=("feature new login",)),
    "guard check 'git push'": Scene(status=1, says="deny"),
    "import - --as github": Scene(stdin='[{"number": 7, "title": "Log in", "state": "OPEN"}]'),
    "init --from idea.md": Scene(before=("reset --yes",)),
    "limits --max-cost": Scene(loop=True),
    "notify": Scene(before=("config set notify.commands '[\"true\"]'",)),
    "pause": Scene(loop=True),
    "release task-003": Scene(before=("hold task-003",)),
    "reset --keep-specs": Scene(status=3, says="--yes"),
    "restore": Scene(before=("reset --yes",)),
    "resume": Scene(loop=True, before=("pause",)),
    "retry": Scene(loop=True),
    "retry task-003": Scene(before=("skip task-003",)),
    "stop": Scene(loop=True),
}
"""By the beginning of the command; the longest one counts."""

ELSEWHERE = {
    "attach": "follows a loop until it ends: tests/cli/test_background.py",
    "demo": "a whole run: .ci/run and tests/demo",
    "deps": "asks a package index: tests/cli/test_build_tools.py",
    "mcp": "talks to a client: tests/cli/test_mcp.py",
    "serve": "serves until it is stopped: tests/cli/test_serve.py",
    "until": "works until its command passes: tests/scenario/test_commands.py",
    "undo": "needs the snapshots of a run: tests/cli/test_undo.py",
}
"""Commands that do not run here, and why."""


def scene_of(command: Shown) -> Scene:
    line = shlex.join(command.words)
    known = max((name for name in SCENES if line.startswith(name)), key=len, default="")
    scene = SCENES.get(known, Scene())
    settled = {"--yes", "-y", "--dry-run"}.intersection(command.words)
    plans = "--from" in command.words and "--no-plan" not in command.words
    if (plans or line.startswith(ASKS)) and not settled:
        return replace(scene, status=4, says="--yes")
    return scene


def elsewhere(command: Shown) -> bool:
    return command.words[:1] != () and command.words[0] in ELSEWHERE


def feature_of(command: Shown) -> str:
    pairs = zip(command.words, command.words[1:], strict=False)
    return next((name for option, name in pairs if option in ("-f", "--feature")), "")


@contextmanager
def prepared(root: Path, scene: Scene) -> Iterator[None]:
    with ExitStack() as stack:
        if scene.loop:
            lock = LoopLock(Layout(root))
            lock.acquire("run-1")
            stack.callback(lock.release)
        if scene.change is not None:
            Project(root).transact(scene.change)
        yield

"""A dry run tells what the next real run does, by name, number and character; and leaves the disk alone."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.request import OwnPrompt, RunRequest
from ralph_tui.engine.core.ports import Agent
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.run.dry_run import NextRun, look_ahead
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.harness.model import answered, serving
from tests.harness.projects import ALWAYS_GREEN, make_project, task
from tests.harness.scenarios import claims_in_vain, finishes, scenario
from tests.scenario.running import QUICK, play

BUILD = RunRequest(only=Phase.BUILDING)


def _no_agent() -> Agent:
    raise AssertionError("a dry run starts no session")


async def dry(
    project: Path, request: RunRequest, overrides: Mapping[str, object] | None = None
) -> NextRun:
    settings = load_settings(project, overrides={**QUICK, **(overrides or {})}, environ={})
    return await look_ahead(project, RunServices(_no_agent, settings), request)


def contents(root: Path) -> dict[str, str]:
    """Every file below a directory, with its digest and its time."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        + str(path.stat().st_mtime_ns)
        if path.is_file()
        else "directory"
        for path in sorted(root.rglob("*"))
    }


SPEC = """\
# Greeter

## Languages
French greets with bonjour.

## Volume
Never louder than a whisper.
"""


@pytest.mark.usefixtures("played_cli")
@pytest.mark.parametrize(
    "own",
    [
        None,
        pytest.param(
            OwnPrompt("Task ID: {{task.id}}\n{{guidance}}\n", "own.md"), marks=pytest.mark.long
        ),
    ],
)
async def test_the_next_run_does_what_was_told(tmp_path: Path, own: OwnPrompt | None) -> None:
    criteria: JsonValue = [f"`{ALWAYS_GREEN}`", "`uv run python -c 'pass' # own`"]
    tasks = [
        task("later", priority=2),
        task(
            "first",
            description="Do specs/greeter.md#languages",
            priority=1,
            verification_criteria=criteria,
            model="haiku",
        ),
        task("waits", priority=0, dependencies=["first"]),
    ]
    project = make_project(tmp_path, tasks, files={"specs/greeter.md": SPEC})
    Project(project).transact(lambda docs: docs.with_state(iteration_count=4))
    Project(project).queue_injection("Use argparse.")
    request = RunRequest(once=True, prompt=own)
    before = contents(tmp_path)
    told = await dry(project, request)
    assert contents(tmp_path) == before
    assert told.task is not None
    async with serving(scenario(finishes("first"))) as server:
        run = await play(project, server, request=request)
        asked = answered(server)[0].body
    (started,) = run.of(ev.IterationStarted)
    assert (told.phase, told.status, told.before) == (Phase.BUILDING, 0, ())
    assert told.first == f"Iteration {started.iteration} works on task {started.task_id}."
    seen = (started.task_id, started.title, started.why, started.attempt)
    assert (told.task.id, told.task.title, told.task.why, told.task.attempt) == seen
    assert told.prompt_chars == started.prompt_chars
    assert told.prompt is not None
    assert told.prompt in _texts(asked)
    if own is None:
        assert "The requirements are in specs/greeter.md." in told.prompt
        assert "bonjour" in told.prompt
        assert "whisper" not in told.prompt, "only what the task names"
        assert "bonjour" not in str(asked["system"]), "what varies stays behind what does not"
    assert (told.model, "haiku" in str(asked["model"])) == ("haiku", True)
    assert told.max_iterations == run.end.iterations == 1
    assert list(told.checks) == [e.receipt.command for e in run.of(ev.GateChecked)]


def _texts(body: Mapping[str, JsonValue]) -> list[str]:
    messages = body["messages"]
    assert isinstance(messages, list)
    found = []
    for message in messages:
        assert isinstance(message, dict)
        content = message["content"]
        parts = content if isinstance(content, list) else [{"text": content}]
        found += [str(part.get("text", "")) for part in parts if isinstance(part, dict)]
    return found


@pytest.mark.long
async def test_a_second_attempt_knows_the_first_one(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], backpressure=["exit 1"])
    async with serving(scenario(claims_in_vain("a"), claims_in_vain("a"))) as server:
        await play(project, server, request=RunRequest(only=Phase.BUILDING, once=True))
        told = await dry(project, BUILD)
        number = len(answered(server))
        run = await play(project, server, request=RunRequest(only=Phase.BUILDING, once=True))
        asked = answered(server)[number].body
    assert told.task is not None
    assert told.task.attempt == run.of(ev.IterationStarted)[0].attempt == 2
    assert "Earlier attempts" in (told.prompt or "")
    assert told.prompt in _texts(asked)


@pytest.mark.usefixtures("played_cli")
async def test_the_prompt_of_discovery_is_exact(tmp_path: Path) -> None:
    project = make_project(tmp_path, files={"AGENTS.md": "# Notes\n\n- Be brief.\n"})
    request = RunRequest(text="A habit tracker", no_input=True)
    told = await dry(project, request, {"phases.building.max_iterations": 1})
    assert (told.phase, told.first) == (
        Phase.DISCOVERY,
        "A session turns the request into specs.",
    )
    async with serving(scenario(finishes("a"))) as server:
        await play(
            project, server, request=request, overrides={"phases.building.max_iterations": 1}
        )
        requests = [_texts(one.body) for one in server.requests if "messages" in one.body]
    assert any(told.prompt in texts for texts in requests)


def test_the_command_needs_no_login_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(tmp_path, [task("a", title="Red \x1b[31mtitle")])
    home = tmp_path / "home"
    home.mkdir()
    nobody = {"ANTHROPIC_API_KEY": "", "HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    for name, value in nobody.items():
        monkeypatch.setenv(name, value)
    before = contents(tmp_path)
    ran = inside("run", "--dry-run", cwd=project)
    prompt = inside("build", "--show-prompt", cwd=project)
    assert contents(tmp_path) == before
    assert (ran.returncode, prompt.returncode, ran.stderr) == (0, 0, "")
    assert "\x1b" not in ran.stdout
    assert "nothing was started or written" in ran.stdout.strip().splitlines()[-1]
    assert prompt.stdout.startswith("# Ralph Building Mode - Iteration 1")

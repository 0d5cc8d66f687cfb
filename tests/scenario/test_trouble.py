"""What the loop does when the model, the network, the CLI or the money gives out."""

import json
from pathlib import Path

import psutil
import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import LockedError
from ralph_tui.domain.outcomes import FailureClass, IterationOutcome, LoopStatus, ToolOutcome
from ralph_tui.engine.safety.processes import SESSION_MARK
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, scenario, works_forever
from tests.harness.waiting import until
from tests.scenario.running import WAITS_FOR_GO, Run, let_go, play


def failing(task_id: str, fault: str, *, times: int | str = "forever") -> str:
    return f"""
    - name: suffers on {task_id}
      when: "^Task ID: {task_id}$"
      turns:
        - say: Hello.
          fault: {{kind: {fault}, times: {times}}}
        - when: {{user: Stop hook feedback}}
          say: Nothing.
    """


def once(script: str) -> str:
    return script.replace("turns:", "times: 1\n      turns:", 1)


SLEEP = "import time; time.sleep(600)"


def leaves_a_stray(task_id: str) -> str:
    sleep = f"python3 -c '{SLEEP}'"
    detached = f"nohup setsid {sleep} >/dev/null 2>&1 & echo ok"
    return f"""
    - name: leaves a stray
      when: "^Task ID: {task_id}$"
      turns:
        - bash: {repr_yaml(detached)}
        - bash: {repr_yaml(sleep)}
        - say: Done.
    """


@pytest.mark.usefixtures("played_cli")
async def test_an_iteration_that_costs_too_much_is_ended(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    async with serving(scenario(works_forever("a", context=100_000, output=4_000))) as server:
        run = await play(
            project,
            server,
            overrides={
                "safety.cost_limits.per_iteration": 0.5,
                "phases.building.max_iterations": 1,
            },
        )
    limit = run.of(ev.LimitReached)[0]
    assert limit.kind == "cost_iteration"
    assert limit.value >= 0.5
    finished = run.of(ev.IterationFinished)[0]
    assert finished.outcome is IterationOutcome.FAILED
    assert "cost" in finished.reason
    assert finished.cost_usd < 1.0
    assert task_of(project, "a").retry_count == 1


@pytest.mark.long
async def test_without_any_cost_limit_the_cli_is_given_none(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    levels = ("per_iteration", "per_session", "total")
    off = {f"safety.cost_limits.{level}": 0 for level in levels}
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server, overrides=off)
        told = "".join(json.dumps(r.body["messages"]) for r in server.requests)
    assert (run.end.status, run.end.exit_code) == (LoopStatus.COMPLETE, 0)
    assert run.end.cost_usd > 0
    assert "USD budget" not in told
    assert not run.of(ev.LimitReached)


@pytest.mark.long
async def test_a_run_that_costs_too_much_opens_the_breaker_and_not_on_the_tasks_account(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path, [task("a")])
    async with serving(scenario(works_forever("a", context=100_000, output=4_000))) as server:
        run = await play(project, server, overrides={"safety.cost_limits.per_session": 0.5})
    assert run.end.status is LoopStatus.STOPPED
    assert run.end.exit_code == 1
    assert run.end.reason.startswith("this run has cost $0.")
    assert "per_session" in run.end.hint
    breaker = json.loads((project / ".ralph" / "circuit_breaker.json").read_text())
    assert breaker["state"] == "open"
    assert breaker["opened_by"] == run.end.reason
    assert task_of(project, "a").retry_count == 0


@pytest.mark.costly
async def test_a_killed_cli_costs_one_iteration_and_leaves_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    first = once(leaves_a_stray("a"))
    survivors: list[psutil.Process] = []

    async def kill(run: Run) -> None:
        await run.until_told(ev.ToolFinished)
        await until(lambda: sleeping(project), what="the detached sleep")
        survivors.extend(sleeping(project))
        cli = next(p for p in children() if "claude" in p.name())
        cli.kill()

    async with serving(scenario(first, finishes("a"))) as server:
        run = await play(project, server, meanwhile=kill)
    assert [e.failure for e in run.of(ev.AgentFailed)] == [FailureClass.CLI_DIED]
    outcomes = [e.outcome for e in run.of(ev.IterationFinished)]
    assert outcomes == [IterationOutcome.FAILED, IterationOutcome.COMPLETE]
    assert task_of(project, "a").retry_count == 0
    assert run.end.exit_code == 0
    assert survivors
    assert not any(p.is_running() and p.status() != "zombie" for p in survivors)
    assert not marked_children()


def repr_yaml(text: str) -> str:
    import json

    return json.dumps(text)


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def sleeping(project: Path) -> list[psutil.Process]:
    """The sleeps that were started in the project, without the shells whose text they are."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cmdline()[1:] == ["-c", SLEEP] and process.cwd() == str(project):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def marked_children() -> list[psutil.Process]:
    found = []
    for process in children():
        try:
            if SESSION_MARK in process.environ():
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


@pytest.mark.long
async def test_an_iteration_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    slow = works_forever("a").replace("print(1)", "import time; time.sleep(100)")
    async with serving(scenario(slow)) as server:
        run = await play(
            project,
            server,
            overrides={
                "phases.building.iteration_timeout_seconds": 3.0,
                "phases.building.max_iterations": 1,
            },
        )
    finished = run.of(ev.IterationFinished)[0]
    assert (finished.outcome, finished.reason) == (
        IterationOutcome.FAILED,
        "the iteration took longer than 3s",
    )
    assert ToolOutcome.INTERRUPTED in [e.outcome for e in run.of(ev.ToolFinished)] or run.of(
        ev.ToolFinished
    )


@pytest.mark.usefixtures("played_cli")
async def test_a_second_loop_is_refused_and_names_the_first(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], [WAITS_FOR_GO])

    async def second(run: Run) -> None:
        await run.until_told(ev.SessionStarted)
        async with serving(scenario(finishes("a"))) as other:
            with pytest.raises(LockedError) as refused:
                await play(project, other)
            assert not other.requests
        assert str(psutil.Process().pid) in str(refused.value)
        let_go(project)

    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server, meanwhile=second)
    assert run.end.exit_code == 0


@pytest.mark.long
async def test_hostile_text_is_told_inert(tmp_path: Path) -> None:
    nasty = "\x1b]52;c;cHduZWQ=\x07\x1b[31m[@click=app.quit]x[/] \u202eevil\x9b2J"
    project = make_project(tmp_path, [task("a", description="Do a")])
    script = finishes("a").replace("say: I will write a.txt.", f"say: {repr_yaml(nasty)}", 1)
    async with serving(scenario(script)) as server:
        run = await play(project, server)
    said = "".join(e.text for e in run.of(ev.AssistantText))
    assert "[@click=app.quit]x[/]" in said
    for bad in ("\x1b", "\x9b", "\x07", "\u202e"):
        assert bad not in said
    raw = (project / ".ralph" / "events.jsonl").read_text()
    assert "\\u001b" not in raw

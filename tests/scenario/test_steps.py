"""Steps around the work, on the real CLI: each type, the order, failure, retries, and what a stop leaves."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path

import psutil
import pytest
from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.safety.orphan_processes import find_orphans
from ralph_tui.store.project import Project
from tests.harness.model import serving, serving_in_process
from tests.harness.projects import events_of, git, make_project, task, task_of
from tests.harness.real_processes import marked_processes, ralph_running, run_ralph
from tests.harness.scenarios import claims_in_vain, finishes, scenario
from tests.harness.waiting import until
from tests.scenario.running import Run, play
from tests.scenario.test_commits import repository
from tests.scenario.test_phases import REQUEST, SPEC, validates

Step = dict[str, JsonValue]

WORK: Step = {}


def command(run: str, **more: JsonValue) -> Step:
    return {"type": "command", "run": run, **more}


def project_with(
    directory: Path,
    steps: Mapping[str, Step],
    *,
    tasks: tuple[str, ...] = ("a",),
    files: Mapping[str, str] | None = None,
) -> Path:
    return make_project(
        directory, [task(name) for name in tasks], config={"steps": steps}, files=files
    )


def outcomes(run: Run) -> list[tuple[str, str]]:
    return [(e.step, e.outcome.value) for e in run.of(ev.StepFinished)]


@pytest.mark.usefixtures("played_cli")
async def test_steps_run_in_their_order_around_the_work(tmp_path: Path) -> None:
    steps: dict[str, Step] = {
        "once": command("echo once >> order.txt", once=True),
        "before": command("echo before >> order.txt"),
        "readme": {"type": "readme-check"},
        "work": WORK,
        "nothing": {"type": "noop"},
        "done": command("echo done >> order.txt", when="task_complete"),
        "not-done": command("echo not-done >> order.txt", when="task_not_complete"),
        "off": command("echo off >> order.txt", enabled=False),
        "end": command("echo end >> order.txt", when="run_end"),
    }
    project = project_with(tmp_path, steps, tasks=("a", "b"), files={"README.md": "# Hello\n"})
    async with serving(scenario(finishes("a"), finishes("b"))) as server:
        run = await play(project, server)
    assert run.end.exit_code == 0, run.end.reason
    lines = (project / "order.txt").read_text().split()
    assert lines == ["once", "before", "done", "before", "done", "end"]
    first = [(e.step, e.iteration) for e in run.of(ev.StepFinished) if e.iteration == 1]
    assert first == [
        ("once", 1), ("before", 1), ("readme", 1), ("nothing", 1), ("done", 1),
    ]  # fmt: skip
    docs = Project(project).load()
    assert docs.steps.of("once").done_at is not None
    assert docs.steps.of("once").done_hash
    assert docs.steps.under_way is None
    assert docs.steps.running == ""
    kinds = [e.type for e in run.events]
    assert kinds.index("step_started") < kinds.index("iteration_started")
    assert [e for e in run.events if not e.transient][-1].type == "loop_finished"


@pytest.mark.long
async def test_a_step_waits_for_how_the_work_ended(tmp_path: Path) -> None:
    steps: dict[str, Step] = {
        "work": WORK,
        "good": command("echo good >> order.txt", when="task_complete"),
        "bad": command("echo bad >> order.txt", when="task_not_complete"),
    }
    project = project_with(tmp_path, steps)
    async with serving(scenario(claims_in_vain("a"))) as server:
        run = await play(
            project,
            server,
            overrides={
                "phases.building.backpressure": ("false",),
                "phases.building.max_iterations": 1,
            },
        )
    assert run.end.exit_code == 1
    assert (project / "order.txt").read_text() == "bad\n"


@pytest.mark.long
async def test_a_failed_step_ends_the_run_with_what_it_printed(tmp_path: Path) -> None:
    steps: dict[str, Step] = {
        "work": WORK,
        "docs": command("echo building; echo the page is missing; exit 3"),
    }
    project = project_with(tmp_path, steps, tasks=("a", "b"))
    async with serving(scenario(finishes("a"), finishes("b"))) as server:
        run = await play(project, server)
        assert run.end.exit_code == 1
        assert "the step docs" in run.end.reason
        assert "exit status 3 (last output: the page is missing)" in run.end.reason
        (ended,) = run.of(ev.StepFinished)
        assert (ended.outcome, ended.exit_code) == (StepOutcome.FAILED, 3)
        assert "building" in ended.tail
        assert task_of(project, "a").status is TaskStatus.COMPLETE
        assert task_of(project, "b").status is TaskStatus.PENDING
        again = await play(project, server)  # the step is still owed, so it is what runs first
        kinds = [e.type for e in again.events]
        assert "iteration_started" not in kinds
        assert any("docs. Running them now" in e.text for e in again.of(ev.Notice))


@pytest.mark.long
async def test_a_step_is_tried_again_and_may_fail_until_its_breaker_opens(tmp_path: Path) -> None:
    flaky = "echo x >> tries.txt; test $(wc -l < tries.txt) -ge 3"
    breaker: JsonValue = {"threshold": 2, "reset_after_seconds": 3600}
    steps: dict[str, Step] = {
        "work": WORK,
        "flaky": command(flaky, retries=2, retry_delay_seconds=0.01),
        "late": command("exit 1", continue_on_error=True, breaker=breaker),
        "slow": command("sleep 60", timeout_seconds=0.2, continue_on_error=True),
    }
    project = project_with(tmp_path, steps, tasks=("a", "b", "c"))
    async with serving(scenario(finishes("a"), finishes("b"), finishes("c"))) as server:
        run = await play(project, server)
    assert run.end.exit_code == 0
    ended = run.of(ev.StepFinished)
    assert outcomes(run)[:5] == [
        ("flaky", "failed"), ("flaky", "failed"), ("flaky", "done"), ("late", "failed"), ("slow", "failed"),
    ]  # fmt: skip
    assert [e.attempt for e in ended][:3] == [1, 2, 3]
    assert ended[0].again_in == pytest.approx(0.01)
    assert ended[-1].reason.startswith("timed out after")
    late = [e for e in ended if e.step == "late"]
    assert [e.outcome.value for e in late] == ["failed", "failed", "skipped"]
    assert "breaker open after 2 failures in a row" in late[-1].reason


@pytest.mark.long
async def test_an_agent_step_has_its_own_session_and_no_tools_of_tasks(tmp_path: Path) -> None:
    sets_up = """
    - name: sets up
      when: Make it ready
      turns:
        - write: {path: ready.txt, content: "ready\\n"}
          context: 30000
        - say: It is ready.
    """
    steps: dict[str, Step] = {
        "setup": {"type": "agent", "prompt": "SETUP.md", "once": True},
        "work": WORK,
    }
    project = project_with(
        tmp_path, steps, tasks=("a", "b"), files={"SETUP.md": "Make it ready.\n"}
    )
    async with serving(scenario(sets_up, finishes("a"), finishes("b"))) as server:
        run = await play(project, server)
        sent = [r for r in server.requests if r.script == "sets up"]
        assert server.unmatched == []
    assert run.end.exit_code == 0, run.end.reason
    assert (project / "ready.txt").exists()
    (ended,) = run.of(ev.StepFinished)
    assert ended.outcome is StepOutcome.DONE
    assert ended.reason == "It is ready."
    assert ended.cost_usd > 0
    assert ended.tokens > 0
    assert run.end.cost_usd > ended.cost_usd
    iterations = sum(e.cost_usd for e in run.of(ev.IterationFinished))
    assert run.end.cost_usd == pytest.approx(iterations + ended.cost_usd)
    assert len(sent) == 2
    tools = next(e.tools for e in run.of(ev.SessionStarted))
    assert "mcp__ralph__ralph_append_learning" in tools
    assert not any("task" in name for name in tools if name.startswith("mcp__ralph__"))
    assert next(s.task_id for s in Project(project).read_sessions()) == "step setup"


Act = Callable[[Run], Coroutine[None, None, None]]

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "ralph-step-word-count"


def install(package: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package beside ralph for one test, without the network."""
    command = ["uv", "pip", "install", "--offline", "--no-deps", "--target", str(place)]
    subprocess.run([*command, str(package)], check=True, capture_output=True, timeout=60)
    monkeypatch.syspath_prepend(place)


def stops_in_the_step(project: Path, pids: list[int]) -> Act:
    async def person(run: Run) -> None:
        await run.until_told(ev.StepStarted)
        await until((project / "pid").exists, what="the step's process")
        pids.append(int((project / "pid").read_text()))
        assert pids[0] in [stray.pid for stray in find_orphans(project)], "a sweep would find it"
        Controls(project).stop(now=True)

    return person


@pytest.mark.long
async def test_stopping_at_once_ends_the_steps_command(tmp_path: Path) -> None:
    waits = "echo $$ > pid.new; mv pid.new pid; sleep 600"
    steps: dict[str, Step] = {
        "work": WORK,
        "docs": command(f"test -e go || {{ {waits}; }}; echo done >> done.txt"),
    }
    project, pids = project_with(tmp_path, steps), list[int]()
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server, meanwhile=stops_in_the_step(project, pids))
        assert run.end.exit_code == 130
        assert outcomes(run) == [("docs", "interrupted")]
        await until(lambda: not psutil.pid_exists(pids[0]), what="the command to be gone")
        (project / "go").touch()
        again = await play(project, server)
    assert again.end.exit_code == 0
    assert outcomes(again) == [("docs", "done")]
    assert (project / "done.txt").read_text() == "done\n"


@pytest.mark.long
async def test_pausing_at_once_runs_the_step_again_afterwards(tmp_path: Path) -> None:
    waits = "echo $$ > pid.new; mv pid.new pid; sleep 600"
    steps: dict[str, Step] = {"before": command(f"test -e go || {{ {waits}; }}"), "work": WORK}
    project = project_with(tmp_path, steps)

    async def person(run: Run) -> None:
        await until((project / "pid").exists, what="the step's process")
        controls = Controls(project)
        controls.pause()
        controls.pause()  # asked again: at once
        await run.until_told(ev.LoopPaused)
        (project / "go").touch()
        controls.resume()

    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server, meanwhile=person)
    assert run.end.exit_code == 0
    assert outcomes(run) == [("before", "interrupted"), ("before", "done")]


@pytest.mark.long
async def test_an_installed_package_brings_a_type_of_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(EXAMPLE, tmp_path / "site", monkeypatch)
    options: JsonValue = {"file": "README.md", "most": 3}
    short: Step = {"type": "word-count", "options": options, "continue_on_error": True}
    steps: dict[str, Step] = {"short": short, "work": WORK, "gone": {**short, "options": {}}}
    project = project_with(tmp_path, steps, files={"README.md": "one two three four\n"})
    async with serving(scenario(finishes("a"))) as server:
        run = await play(
            project, server, meanwhile=removes(project / "README.md", after="iteration_started")
        )
    assert run.end.exit_code == 0
    said = {e.step: e.reason for e in run.of(ev.StepFinished)}
    assert said["short"] == "README.md has 4 words, 1 too many"
    assert said["gone"].startswith("FileNotFoundError: "), "an exception is a failed step"


def removes(path: Path, *, after: str) -> Act:
    async def person(run: Run) -> None:
        await until(lambda: any(e.type == after for e in run.events), what=after)
        path.unlink()  # noqa: ASYNC240 (one file)

    return person


@pytest.mark.long
@pytest.mark.parametrize("name", ["docs", "setup"])
async def test_after_kill_9_the_next_run_finishes_what_is_owed(tmp_path: Path, name: str) -> None:
    waits = f"test -e go || {{ touch in-{name}; sleep 600; }}; echo {name} >> done.txt"
    steps: dict[str, Step] = {"setup": command("echo setup >> done.txt", once=True), "work": WORK}
    steps["docs"] = command("echo docs >> done.txt")
    steps[name] = {**steps[name], "run": waits}
    project = project_with(tmp_path, steps)
    with serving_in_process(scenario(finishes("a")), tmp_path) as server:
        async with ralph_running(["build", "--headless"], project, server) as ralph:
            await until((project / f"in-{name}").exists, what=f"the step {name}")
            os.kill(ralph.process.pid, signal.SIGKILL)
            await ralph.process.wait()
            await until(lambda: not marked_processes(ralph.mark), what="an empty machine")
        done = task_of(project, "a").status is TaskStatus.COMPLETE
        assert done is (name == "docs")
        (project / "go").touch()
        ran = await run_ralph(["build", "--headless"], project, server)
    assert ran.status == 0, ran.stdout + ran.stderr
    assert (project / "done.txt").read_text().split() == ["setup", "docs"]
    owed = "The last run ended before these steps of iteration 1: docs."
    assert (owed in ran.stdout) is (name == "docs")
    assert len([e for e in events_of(project) if isinstance(e, ev.IterationStarted)]) == 1
    assert Project(project).load().steps.of("setup").done_at is not None


@pytest.mark.long
@pytest.mark.needs("sandbox")
async def test_a_command_step_is_held_by_the_sandbox(tmp_path: Path) -> None:
    steps: dict[str, Step] = {"work": WORK, "sly": command("echo x > .ralph/sly.txt")}
    project = make_project(
        tmp_path, [task("a")], config={"steps": steps, "safety": {"sandbox": "required"}}
    )
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server)
    assert not (project / ".ralph" / "sly.txt").exists()
    assert run.end.exit_code == 1
    assert run.of(ev.StepFinished)[0].sandboxed


@pytest.mark.long
async def test_stopping_at_once_ends_an_agent_step(tmp_path: Path) -> None:
    works = """
    - name: works on
      when: Make it ready
      turns:
        - bash: uv run python -c 'print(1)'
          repeat: 10000
    """
    setup: Step = {"type": "agent", "prompt": "SETUP.md", "once": True}
    project = project_with(
        tmp_path, {"setup": setup, "work": WORK}, files={"SETUP.md": "Make it ready.\n"}
    )

    async def person(run: Run) -> None:
        await run.until_told(ev.ToolFinished)
        Controls(project).stop(now=True)

    async with serving(scenario(works, finishes("a"))) as server:
        run = await play(project, server, meanwhile=person)
    assert run.end.exit_code == 130
    assert outcomes(run) == [("setup", "interrupted")]
    assert run.of(ev.StepFinished)[0].cost_usd > 0
    assert Project(project).load().steps.of("setup").done_at is None
    assert not run.of(ev.IterationStarted)


@pytest.mark.long
async def test_an_agent_step_waits_for_the_service_and_is_tried_again_if_it_says_that_it_failed(
    tmp_path: Path,
) -> None:
    ready = """
    - name: suffers
      when: Make it ready
      times: 1
      turns:
        - say: Hello.
          fault: {kind: status, status: 529, times: forever}
    - name: gives up
      when: Make it ready
      times: 1
      turns:
        - say: "STEP FAILED: the database is locked"
    - name: sets up
      when: Make it ready
      turns:
        - say: It is ready.
    """
    setup: Step = {"type": "agent", "prompt": "SETUP.md", "once": True, "retries": 1}
    project = project_with(
        tmp_path, {"setup": setup, "work": WORK}, files={"SETUP.md": "Make it ready.\n"}
    )
    async with serving(scenario(ready, finishes("a"))) as server:
        run = await play(project, server, overrides={"agent.max_api_retries": 0})
    assert run.end.exit_code == 0, run.end.reason
    assert run.of(ev.LimitWait)
    assert outcomes(run) == [("setup", "failed"), ("setup", "failed"), ("setup", "done")]
    assert [e.attempt for e in run.of(ev.StepStarted)] == [1, 1, 2]
    assert run.of(ev.StepFinished)[1].reason == "the database is locked"
    docs = Project(project).load()
    assert (docs.steps.of("setup").failures, docs.state.iteration_count) == (0, 1)


@pytest.mark.long
async def test_a_commit_holds_what_the_steps_before_it_made(tmp_path: Path) -> None:
    steps: dict[str, Step] = {
        "work": WORK,
        "docs": command("echo page > page.html"),
        "commit": {},
        "late": command("git log --format=%s > ../seen.txt"),
    }
    project = make_project(
        tmp_path,
        [task("a")],
        config={"steps": steps, "git": {"branch": "feature", "commit": "task"}},
    )
    repository(project)
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server)
    assert run.end.exit_code == 0, run.end.reason
    assert [step for step, _ in outcomes(run)] == ["docs", "commit", "late"]
    (made,) = run.of(ev.WorkCommitted)
    shown = git(project, "show", "--name-only", "--format=", made.commit).split()
    assert {"a.txt", "page.html"} <= set(shown)
    assert "feat: a - Do a" in (tmp_path / "seen.txt").read_text()


@pytest.mark.usefixtures("played_cli")
async def test_a_step_cannot_weaken_a_check_for_the_next_task(tmp_path: Path) -> None:
    steps: dict[str, Step] = {"work": WORK, "sly": command("echo true > check.sh")}
    project = make_project(
        tmp_path,
        [task("a"), task("b")],
        ["sh check.sh"],
        config={"steps": steps},
        files={"check.sh": "test ! -e b.txt\n"},
    )
    async with serving(scenario(finishes("a"), finishes("b"))) as server:
        run = await play(project, server, overrides={"phases.building.max_iterations": 2})
    assert task_of(project, "b").status is not TaskStatus.COMPLETE, run.end.reason


@pytest.mark.long
async def test_the_steps_of_a_runs_end_wait_for_the_validation(tmp_path: Path) -> None:
    steps: dict[str, Step] = {"work": WORK, "end": command("echo end", when="run_end")}
    state = json.dumps({"request": REQUEST, "current_phase": "building"})
    project = make_project(
        tmp_path,
        [task("a")],
        config={"steps": steps},
        files={"specs/greeter.md": SPEC, ".ralph/state.json": state},
    )
    overrides = {"phases.validation.require_human_approval": False}
    async with serving(scenario(finishes("a"), validates())) as server:
        run = await play(project, server, request=RunRequest(), overrides=overrides)
    assert run.end.exit_code == 0, run.end.reason
    kinds = [e.type for e in run.events]
    assert kinds.index("validation_finished") < kinds.index("step_started")
    assert outcomes(run) == [("end", "done")]

"""The gate: commands bounded in time and output, tools that are missing, receipts the model reads."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import psutil

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.tool_calls import ALLOW, ToolCall, Verdict
from ralph_tui.domain.verification.check_commands import CheckCommand, CheckKind, ProjectChecks
from ralph_tui.domain.verification.verification import (
    CommandCriterion,
    GateResult,
    Receipt,
    ReceiptStatus,
)
from ralph_tui.engine.phases.build_loop import passing_already
from ralph_tui.engine.safety.repository_guard import RepositoryGuard
from ralph_tui.engine.verification.baseline import Baseline, Check, require_started
from ralph_tui.engine.verification.check_command import KEPT_BYTES, run_command
from ralph_tui.engine.verification.detection.project_checks import GateRules
from ralph_tui.engine.verification.failure_report import receipt_text
from ralph_tui.engine.verification.gate import (
    NOTHING_SHOWN,
    Gate,
    Review,
    gate_environment,
    plan_checks,
    prose_criteria,
)
from tests.engine.verification.evidence.projects import UNITTEST, check_environment, write
from tests.harness.waiting import until

ENV = dict(os.environ)


async def _allow(_: ToolCall) -> Verdict:
    return ALLOW


def gate_of(
    root: Path,
    *commands: str,
    timeout: float = 10,
    environment: Mapping[str, str] = ENV,
    review: Review = _allow,
    emit: EventSink = lambda _: None,
) -> Gate:
    def rules() -> GateRules:
        return GateRules(commands=commands)

    return Gate(
        root, rules=rules, timeout=timeout, environment=environment, review=review, emit=emit
    )


async def test_a_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    child, command = tmp_path / "child", "sleep 300 & echo $! > child; sleep 300"
    for limit in (0.2, 2, 20):  # on a slow machine the shell has not come that far at first
        result = await run_command(command, cwd=tmp_path, environment=ENV, limit_seconds=limit)
        assert result.exit_code is None
        if child.exists() and child.read_text():
            break
    pid = int(child.read_text())
    await until(lambda: not psutil.pid_exists(pid), what="the child's end")


async def test_a_background_child_does_not_hold_the_gate(tmp_path: Path) -> None:
    command = "sleep 300 & echo out; echo err >&2; exit 3"
    result = await run_command(command, cwd=tmp_path, environment=ENV, limit_seconds=60)
    assert (result.exit_code, result.tail) == (3, "out\nerr\n")


async def test_output_does_not_begin_inside_a_secret(tmp_path: Path) -> None:
    secret = "sk-ant-api03-a1B2c3D4e5F6g7H8i9J0"
    colors = "\x1b[0m" * ((KEPT_BYTES - 16) // 4)
    (tmp_path / "out").write_text(f"{secret}{colors}\nthe end\n")
    result = await run_command("cat out", cwd=tmp_path, environment=ENV, limit_seconds=60)
    assert result.tail == "…the end\n"


def test_checks_are_planned_once_each() -> None:
    task = Task(
        id="a",
        verification_criteria=(
            "tests",
            "lint",
            "npm test passes",
            CommandCriterion(command="make"),
            "It is pretty",
        ),
    )
    npm = CheckCommand(kind=CheckKind.TESTS, command="npm test", file="package.json")
    project = ProjectChecks(commands=(npm,))
    checks = plan_checks((task,), GateRules(commands=("npm test", "make lint"), checks=project))
    assert [(c.command, c.source) for c in checks] == [
        ("npm test", "backpressure"),
        ("make lint", "backpressure"),
        ("make", "criterion"),
    ]
    assert prose_criteria(task, project) == ("It is pretty",)


def test_the_gates_environment_is_the_projects() -> None:
    base = {"PATH": "/bin", "VIRTUAL_ENV": "/ralph", "ANTHROPIC_API_KEY": "secret"}
    assert gate_environment(base, {"MARK": "1"}) == {"PATH": "/bin", "MARK": "1"}


async def _deny(_: ToolCall) -> Verdict:
    return Verdict(decision="deny", rule="r", reason="Not here", instead="Do less.")


async def test_only_the_plans_commands_pass_the_guard(tmp_path: Path) -> None:
    told: list[ev.Event] = []
    gate = gate_of(tmp_path, "true", review=_deny, emit=told.append)
    task = Task(id="a", verification_criteria=("$ true again",))
    result = await gate.run(task, "done")
    assert [r.status for r in result.receipts] == [
        ReceiptStatus.PASSED,
        ReceiptStatus.DENIED,
    ]
    assert not result.passed
    assert [e.type for e in told] == ["gate_started", *["gate_checked"] * 2, "gate_finished"]


async def test_a_command_out_of_time_fails_the_gate(tmp_path: Path) -> None:
    gate = gate_of(tmp_path, "sleep 100", timeout=0.2)
    result = await gate.run(Task(id="a"), "")
    assert result.receipts[0].status is ReceiptStatus.TIMED_OUT


async def test_what_a_criterion_that_runs_through_uv_shows_counts(tmp_path: Path) -> None:
    async def through_python(_: ToolCall) -> Verdict:
        return Verdict(decision="allow", command="python3 -c 'import app'")

    write(tmp_path, {"app.py": "x = 1\n"})
    gate = gate_of(tmp_path, timeout=60, environment=check_environment(), review=through_python)
    task = Task(id="a", description="Set x", verification_criteria=("$ no-such-tool",))
    gate.baseline.take("", await gate.examine_all([task]))
    await gate.begin("a", [task])
    write(tmp_path, {"app.py": "x = 2\n"})
    result = await gate.run(task, "")
    assert (result.question, result.verified) == (NOTHING_SHOWN, False)


class Watch:
    """Hears what runs and what was there right before and after."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.heard: list[tuple[str, bool]] = []

    async def begin_command(self, key: str, *, is_confined: bool = True) -> None:
        del is_confined
        self.heard.append((key, (self.root / "made").exists()))

    end_command = begin_command


async def test_each_command_is_watched_until_it_has_ended(tmp_path: Path) -> None:
    gate = gate_of(tmp_path, "touch made")
    watch = Watch(tmp_path)
    gate.watch = cast("RepositoryGuard", watch)
    await gate.run(Task(id="a"), "")
    (begun, before), (ended, after) = watch.heard[:2]
    assert (begun == ended, before, after) == (True, False, True)


def test_the_receipt_the_model_reads() -> None:
    red = Receipt(
        command="make",
        source="criterion",
        status=ReceiptStatus.FAILED,
        reason="exit status 2",
        tail="boom",
    )
    text = receipt_text(GateResult(task_id="a", receipts=(red,)))
    assert text.startswith("NOT YET:")
    assert "- failed: `make` (exit status 2)\n    boom" in text
    green = Receipt(command="lint", source="criterion", status=ReceiptStatus.PASSED)
    both = receipt_text(GateResult(task_id="a", receipts=(red, green)))
    assert both.endswith("\n    boom"), "a screen shows the last line"


def test_a_gate_that_ran_nothing_has_verified_nothing() -> None:
    green = Receipt(command="make", source="criterion", status=ReceiptStatus.PASSED)
    now = datetime(2026, 11, 23, tzinfo=UTC)
    for receipts, outcome, basis in (
        ((), "unverified", "no check could run"),
        ((green,), "verified", "1 check passed"),
    ):
        result = GateResult(task_id="a", receipts=receipts)
        assert result.passed
        assert result.verification(now).outcome.value == outcome
        assert result.verification(now).reason == basis
        text = receipt_text(result)
        assert text.startswith("ACCEPTED")
        assert ("unverified" in text) is (outcome == "unverified")
        assert "every check" not in text


async def test_where_a_check_is_required_a_gate_that_ran_nothing_refuses(tmp_path: Path) -> None:
    told: list[ev.Event] = []
    gate = gate_of(tmp_path, emit=told.append)
    task = Task(id="a", verification_criteria=("It is fast",))
    assert (await gate.run(task, "", allowed=True)).passed
    refused = await gate.run(task, "", allowed=False)
    assert not refused.passed
    assert refused.refusal == "no check could run for this task"
    assert receipt_text(refused).startswith("NOT YET")


async def test_a_test_that_the_person_took_back_is_not_missed(tmp_path: Path) -> None:
    first = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
    write(tmp_path, {"test_a.py": first, "b.py": ""})
    gate = gate_of(tmp_path, UNITTEST, timeout=30, environment=check_environment())
    gate.baseline.take("", await gate.examine_all())
    task = Task(id="a", description="Add test_b")
    await gate.begin("a", (task,))
    write(tmp_path, {"test_a.py": f"{first}    def test_b(self): pass\n", "b.py": "b = 1\n"})
    assert (await gate.run(task, "")).passed
    await gate.accept(task)
    await gate.end()
    write(tmp_path, {"test_a.py": first, "b.py": ""})
    await gate.begin("c", (other := Task(id="c", description="Set b"),))
    write(tmp_path, {"b.py": "b = 2\n"})
    assert [one.reason for one in (await gate.run(other, "")).receipts if not one.ok] == []


async def test_a_first_claim_is_compared_with_the_tests_before_the_run(tmp_path: Path) -> None:
    test = "import unittest\nimport total\n\n\nclass TotalTest(unittest.TestCase):\n    def test_nothing(self): pass\n    def test_some(self): self.assertEqual(total.some, 3)\n"
    write(tmp_path, {"total.py": "some = 0\n", "test_total.py": test})
    gate = gate_of(tmp_path, UNITTEST, timeout=30, environment=check_environment())
    gate.baseline = Baseline(tmp_path)
    gate.baseline.take("", await gate.examine_all())
    task = Task(id="a", description="Fix it")
    narrowed = "import unittest\nunittest.defaultTestLoader.testNamePatterns = ['*nothing*']\n"
    await gate.begin("a", (task,))
    write(tmp_path, {"total.py": narrowed})
    refused = await gate.run(task, "")
    assert refused.receipts[0].reason == "1 test (test_total.TotalTest.test_some) no longer ran"
    write(tmp_path, {"total.py": "some = 3\n"})
    assert (await gate.run(task, "")).passed


def test_a_task_whose_checks_pass_before_the_work_is_named() -> None:
    own = {"a": ("true",), "b": ("true", "false"), "c": (), "d": ("true",)}
    tasks = [Task(id=name, shows="kept" if name == "d" else "") for name in own]

    def checks(task: Task) -> list[Check]:
        return [Check(command=one, source="criterion") for one in own[task.id]]

    assert passing_already(tasks, checks, "true".__eq__).startswith("All checks of a pass already")
    assert passing_already(tasks[1:], checks, "true".__eq__) == ""


async def test_a_check_of_the_project_that_looks_at_no_source_is_named_before_anything_is_spent(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"app.py": "x = 1\n", "blind.sh": "true\n", "reads.sh": "python3 app.py\n"})
    commands = ("sh blind.sh", "sh reads.sh")
    gate = gate_of(tmp_path, *commands, timeout=60, environment=check_environment())
    examined = await gate.examine_all()
    warnings = require_started(tmp_path, plan_checks((), gate.rules()), examined, (), ())
    assert warnings == (
        "`sh blind.sh` passes with unparsable sources as well. It shows nothing about the code.",
    )


async def test_a_test_that_fails_once_before_anything_is_spent_is_known_as_flaky(
    tmp_path: Path,
) -> None:
    test = "import os, unittest\nclass NetTest(unittest.TestCase):\n    def test_get(self):\n        n = len(os.listdir('../runs')); open(f'../runs/{n}', 'w').close(); self.assertTrue(n)\n"
    write(tmp_path, {"project/test_net.py": test})
    (tmp_path / "runs").mkdir()
    root = tmp_path / "project"
    gate = gate_of(root, UNITTEST, timeout=60, environment=check_environment())
    examined = await gate.examine_all()
    assert examined[UNITTEST].passed
    planned = [Check(command=UNITTEST, source="backpressure")]
    (warning,) = require_started(root, planned, examined, (), ())
    assert "is flaky: test_net.NetTest.test_get failed, then passed." in warning

"""`--dry-run` and `--show-prompt` as a person and a program read them."""

import json
from pathlib import Path

import pytest

from tests.cli.processes import inside
from tests.harness.projects import ALWAYS_GREEN, make_project, task


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path, [task("a", model="haiku")])


def test_a_program_gets_everything_and_the_prompt_on_request(project: Path) -> None:
    ran = inside("build", "--dry-run", "--json", "-n", "4", "-t", "2", "-r", "9", cwd=project)
    told = json.loads(ran.stdout)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (told["phase"], told["task"]["id"], told["model"]) == ("building", "a", "haiku")
    limits = ("max_iterations", "iteration_timeout_seconds", "rate_limit_per_hour")
    assert [told[name] for name in limits] == [4, 120, 9]
    assert "prompt" not in told
    both = json.loads(inside("build", "--dry-run", "--show-prompt", "--json", cwd=project).stdout)
    plain = inside("build", "--show-prompt", cwd=project).stdout
    assert both["prompt"] == plain
    assert both["prompt_chars"] == told["prompt_chars"] == len(plain)


def test_a_person_reads_what_comes_first(project: Path) -> None:
    lines = inside("run", "--dry-run", "--once", cwd=project).stdout.splitlines()
    assert lines[0] == "Iteration 1 works on task a."
    facts = dict(line.split("  ", 1) for line in lines if "  " in line)
    assert {name: value.strip() for name, value in facts.items()} == {
        "Project": "project",
        "Phase": "building: the plan was not made from a request",
        "Task": "a: Do a",
        "Chosen by": "priority 100, the only task that is ready",
        "Model": "haiku",
        "Check 1": ALWAYS_GREEN,
        "Iterations": "at most 1, each at most 15m 00s",
        "Requests": "no limit",
        "Cost": "$0.00 spent; at most $2.00 an iteration, $50.00 this run, $200.00 in total",
        "Prompt": f"{facts['Prompt'].strip()}",
    }


def test_an_end_has_its_status_and_no_prompt(project: Path) -> None:
    inside("hold", "a", cwd=project)
    ran = inside("build", "--dry-run", "--show-prompt", cwd=project)
    assert ran.returncode == 1
    assert ran.stdout.startswith("The run ends immediately: no task is ready. 1 task on hold: a.\n")
    assert "There is no prompt to show." in ran.stderr
    assert "Release a task with `ralph release a`." in ran.stderr

"""Prompts of a headless run, typed on a real pseudo-terminal."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest

from ralph_tui.domain.documents.questions import Answer
from ralph_tui.engine.control.controls import Controls
from ralph_tui.store.project import Project
from tests.cli.processes import REPOSITORY
from tests.harness.model import serving_in_process
from tests.harness.projects import HAS_FILE, make_project, task, task_of
from tests.harness.real_processes import ralph_environment
from tests.harness.scenarios import REQUEST, discovers, finishes, plans, scenario, validates

ANSWER = "empty declines\\): "
APPROVE = "approve\\? \\[y/N\\] "


@contextmanager
def typing(
    *words: str, cwd: Path, environ: dict[str, str] | None = None
) -> Iterator["pexpect.spawn[str]"]:
    process = pexpect.spawn(
        sys.executable,
        ["-m", *words],
        cwd=str(cwd),
        env={**(environ or os.environ), "TERM": "xterm", "NO_COLOR": "1"},
        encoding="utf-8",
        timeout=60,
        dimensions=(40, 200),
    )
    try:
        yield process
    finally:
        process.close(force=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Project(tmp_path).create()
    return tmp_path


def said(root: Path) -> list[dict[str, object]]:
    found = json.loads((root / "answers.json").read_text(encoding="utf-8"))
    assert isinstance(found, list)
    return found


def test_numbers_words_and_a_reason(root: Path) -> None:
    with typing("tests.cli.asking", str(root), cwd=REPOSITORY) as person:
        person.expect("Which colour first")
        person.expect(ANSWER)
        person.sendline("2")
        person.expect("Which colour first\\?: Green \\(at the terminal\\)")
        person.expect(ANSWER)
        person.sendline("1, 9")
        person.expect("There is no option 9")
        person.expect(ANSWER)
        person.sendline("neither, take blue")
        person.expect(APPROVE)
        person.sendline("perhaps")
        person.expect("enter y to approve")
        person.expect(APPROVE)
        person.sendline("n")
        person.expect("why not\\?")
        person.sendline("")
        person.expect(APPROVE)
        person.sendline("")
        person.expect("why not\\?")
        person.sendline("too many tasks")
        person.expect("ralph: complete")
        assert person.wait() == 0
    first, second, approval = said(root)
    assert (first["labels"], first["by"]) == (["Green"], "terminal")
    assert (second["labels"], second["other"]) == ([], "neither, take blue")
    assert (approval["approved"], approval["reason"]) == (False, "too many tasks")
    assert approval["decided_by"] == "terminal"


def test_an_answer_from_elsewhere_takes_the_prompt_and_what_was_typed_away(root: Path) -> None:
    controls = Controls(root)
    with typing("tests.cli.asking", str(root), cwd=REPOSITORY) as person:
        person.expect(ANSWER)
        person.send("half an answ")
        controls.answer("q-1", Answer(labels=("Red",), by="command"))
        person.expect("Which colour first\\?: Red \\(with a command\\)")
        person.expect(ANSWER)
        person.sendline("1\nleft over")
        person.expect(APPROVE)
        person.sendline("yes")
        person.expect("ralph: complete")
    first, second, approval = said(root)
    assert (first["labels"], first["by"]) == (["Red"], "command")
    assert (second["labels"], second["other"], second["by"]) == (["Red"], "", "terminal")
    assert approval["approved"] is True


def test_nothing_typed_is_a_decline_and_the_end_of_input_asks_no_more(root: Path) -> None:
    controls = Controls(root)
    with typing("tests.cli.asking", str(root), cwd=REPOSITORY) as person:
        person.expect(ANSWER)
        person.sendline("")
        person.expect("declined \\(at the terminal\\)")
        person.expect(ANSWER)
        person.sendeof()
        person.expect("no more questions are asked here")
        controls.answer("q-2", Answer(other="later", by="command"))
        person.expect("waiting for your approval of the plan")
        controls.decide(approved=True)
        person.expect("ralph: complete")
    assert said(root)[0]["declined"] is True


@pytest.mark.long
def test_the_whole_way_on_a_terminal_without_a_screen(tmp_path: Path) -> None:
    project = make_project(tmp_path, [], [HAS_FILE.format(name="a.txt")])
    script = scenario(discovers(asks=True), plans(), finishes("a"), validates())
    with serving_in_process(script, tmp_path) as server:
        environ = ralph_environment(server, tmp_path)
        words = ("ralph_tui", REQUEST, "--headless")
        with typing(*words, cwd=project, environ=environ) as person:
            person.expect("Which language\\?")
            person.expect(ANSWER)
            person.sendline("french")
            person.expect("Language: French \\(at the terminal\\)")
            for what in ("specs", "plan", "result"):
                person.expect(f"waiting for your approval of the {what}")
                person.expect(APPROVE)
                person.sendline("y")
                person.expect(f"approved the {what}")
            person.expect("ralph: complete: validated and approved by the person")
            assert person.wait() == 0
    assert task_of(project, "a").status.value == "complete"


@pytest.mark.long
def test_permission_is_given_and_denied_at_the_prompt(tmp_path: Path) -> None:
    config = {"safety": {"ask_commands": ["touch"]}}
    project = make_project(tmp_path, [task("a")], config=config)
    script = """
    - name: works
      task: a
      turns:
        - bash: touch 1.made
        - bash: touch 2.made
        - ralph: {mark_task_complete: {task_id: a, verification_notes: Done.}}
        - when: {last_result: "ACCEPTED:"}
          say: Done.
    """
    prompt = "allow\\? 1 once, 2 for this session, 3 and why not"
    with serving_in_process(scenario(script), tmp_path) as server:
        environ = ralph_environment(server, tmp_path)
        with typing("ralph_tui", "build", "--headless", cwd=project, environ=environ) as person:
            person.expect("Allow the agent to run `touch 1.made`")
            person.expect("because safety.ask_commands lists `touch`")
            person.expect(prompt)
            person.sendline("yes")
            person.expect("Valid answers: 1 allow once")
            person.expect(prompt)
            person.sendline("1")
            person.expect("Permission: allowed once \\(at the terminal\\)")
            person.expect("Allow the agent to run `touch 2.made`")
            person.expect(prompt)
            person.sendline("3 one is enough")
            person.expect("denied at the terminal \\(ask-first\\).*one is enough")
            person.expect("ralph: complete")
            person.wait()
    assert [path.name for path in project.glob("*.made")] == ["1.made"]

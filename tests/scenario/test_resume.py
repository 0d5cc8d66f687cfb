"""kill -9 in every phase (building: test_survival): the next run goes on, and asks again what was open."""

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from ralph_tui.domain.documents.questions import parse_answer
from ralph_tui.domain.errors import RalphError
from ralph_tui.engine.control.controls import Controls
from ralph_tui.store.project import Project
from tests.harness.model import ServerProcess, serving_in_process
from tests.harness.projects import event_types, make_project
from tests.harness.real_processes import marked_processes, ralph_running
from tests.harness.scenarios import REQUEST, discovers, scenario
from tests.harness.waiting import until


def asks(question: str, header: str, *options: str) -> str:
    offered = ", ".join(f"{{label: {o}, description: {o}}}" for o in options)
    return (
        f"tools: [{{name: AskUserQuestion, input: {{questions: [{{question: {question}, "
        f"header: {header}, multiSelect: false, options: [{offered}]}}]}}}}]"
    )


LANGUAGE = asks("Which language?", "Language", "English", "French")
POLITE = asks("How polite?", "Tone", "Formal", "Casual")


def hangs(first_line: str) -> str:
    """A session that never gets an answer from the model, once."""
    return f"""
    - name: hangs
      when: "^# Ralph {first_line}"
      times: 1
      turns:
        - say: Hello.
          fault: {{kind: hang, times: forever}}
    """


async def killed(words: Sequence[str], project: Path, server: ServerProcess, *, at: str) -> None:
    """Run until an event of this type is in the journal (or a request hangs), then kill -9."""
    async with ralph_running(words, project, server) as ralph:
        await until(lambda: at in event_types(project), what=at)
        os.kill(ralph.process.pid, signal.SIGKILL)
        await ralph.process.wait()
        await until(lambda: not marked_processes(ralph.mark), what="an empty machine")


@pytest.mark.long
async def test_discovery_with_an_open_question(tmp_path: Path) -> None:
    project = make_project(tmp_path, [])
    controls = Controls(project)
    first = f"""
    - name: asks both
      when: "^# Ralph Discovery Mode"
      times: 1
      turns:
        - {LANGUAGE}
        - {POLITE}
        - say: never reached
    """
    second = discovers().replace("turns:", f"turns:\n    - {POLITE}", 1)
    words = ["discover", REQUEST, "--headless", "--yes", "--wait"]

    async def open_question(text: str) -> str:
        def there() -> list[str]:
            return [q.id for q in controls.open_questions() if q.question.question == text]

        await until(there, what=text)
        return there()[0]

    with serving_in_process(scenario(first, second), tmp_path) as server:
        async with ralph_running(words, project, server) as ralph:
            language = await open_question("Which language?")
            asked = controls.open_questions()[0]
            controls.answer(language, parse_answer(asked.question, "2", by="command"))
            before = await open_question("How polite?")
            os.kill(ralph.process.pid, signal.SIGKILL)
            await ralph.process.wait()
            await until(lambda: not marked_processes(ralph.mark), what="an empty machine")
        assert [q.id for q in controls.open_questions()] == [before], "it still stands on disk"
        async with ralph_running(words, project, server) as again:
            await until(lambda: event_types(project).count("loop_started") == 2, what="a new run")
            await until(
                lambda: before not in [q.id for q in controls.open_questions()], what="withdrawn"
            )
            after = await open_question("How polite?")
            assert after != before
            late = parse_answer(asked.question, "late", by="command")
            with pytest.raises(RalphError, match="was withdrawn because its session has ended"):
                controls.answer(before, late)
            controls.answer(after, late)
            ran = await again.finished()
        prompts = [json.dumps(r["body"]) for r in server.requests() if r["script"] == "discovers"]
    assert ran.status == 0, ran.stderr
    assert "Which language? \\u2192 French" in prompts[0], "what was answered is not asked again"
    log = Project(project).load().questions
    answers = {q.id: q.answer.text if q.answer else None for q in log.questions}
    assert answers == {language: "French", before: None, after: "late"}

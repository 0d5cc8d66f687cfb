"""The part of a spec that a task names arrives in the body of the first request, and nothing else of it."""

from pathlib import Path

from tests.harness.model import serving
from tests.harness.projects import make_project, task
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import play

SPEC = """\
# Greeter

## Languages
French greets with bonjour.

## Volume
Never louder than a whisper.
"""


async def test_the_part_that_a_task_names_is_in_the_first_request(tmp_path: Path) -> None:
    wanted = task("a", description="Do specs/greeter.md#languages")
    project = make_project(tmp_path, [wanted])
    (project / "specs").mkdir()
    (project / "specs" / "greeter.md").write_text(SPEC)
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server)
        body = server.model_requests[0].body
    assert run.end.exit_code == 0
    prompt = str(body["messages"])
    assert "The requirements are in specs/greeter.md." in prompt
    assert "bonjour" in prompt
    assert "whisper" not in prompt, "only what the task names"
    assert "bonjour" not in str(body["system"]), "what varies stays behind what does not"

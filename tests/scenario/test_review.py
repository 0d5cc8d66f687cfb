"""A review whose ralph is killed leaves nothing; what a review does is in `runs/reviews.txt` and `runs/decisions.txt`."""

from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.store.backup.mirror import mirror_of
from tests.harness.model import serving_in_process
from tests.harness.projects import make_project, task, task_of
from tests.harness.real_processes import marked_processes, ralph_running, run_ralph
from tests.harness.scenarios import scenario
from tests.harness.waiting import until

PROSE = task("a", verification_criteria=["greet returns a greeting with the name"])
CONFIG: dict[str, object] = {"phases": {"building": {"review": "prose"}}}

WORKS = r"""
    - name: works on a
      task: a
      turns:
        - write: {path: greet.py, content: "def greet(name):\n    return f'Hello, {name}!'\n"}
        - ralph: {mark_task_complete: {task_id: a, verification_notes: It greets.}}
        - when: {last_result: "ACCEPTED: a reviewer found"}
          say: Done.
"""
AGREES = """
    - name: reviews
      when: Ralph Review of a
      turns:
        - ralph: {submit_review: {criteria: [{number: 1, met: true, reason: Read greet.py., evidence: [
            {file: greet.py, line: 2, text: "return f'Hello, {name}!'"}]}], summary: Read.}}
"""
HANGS = """
    - name: reads and hangs
      when: Ralph Review of a
      times: 1
      turns:
        - read: greet.py
        - fault: {kind: hang}
"""


@pytest.mark.costly
@pytest.mark.timeout(400)
async def test_nothing_is_left_of_a_review_whose_ralph_was_killed(tmp_path: Path) -> None:
    project = make_project(tmp_path, [PROSE], ("detected",), CONFIG)
    (temporary := tmp_path / "temporary").mkdir()
    environment = {"TMPDIR": str(temporary)}
    with serving_in_process(scenario(HANGS, AGREES, WORKS), tmp_path) as server:
        async with ralph_running(["build", "--headless"], project, server, environment) as killed:
            await until(lambda: "Ralph Review of a" in str(server.requests()), 200, "the review")
            killed.process.kill()
            await killed.process.wait()
            await until(lambda: not marked_processes(killed.mark), 100, "an empty machine")
        again = await run_ralph(["build", "--headless"], project, server, environment)
    assert again.status == 0, again.stdout + again.stderr
    assert task_of(project, "a").status is TaskStatus.COMPLETE
    place = mirror_of(project)
    assert [path.name for path in place.iterdir() if "review" in path.name] == ["review"]
    assert [path.name for path in (place / "review").iterdir() if "discarded" in path.name] == []
    assert [path.name for path in temporary.iterdir() if "report" in path.name] == []

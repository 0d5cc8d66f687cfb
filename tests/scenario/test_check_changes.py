"""Changed checks, on the real CLI: the agent asks, the person decides about exactly what they see."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import scenario
from tests.scenario.running import play

CHECK = "$ uv run python -m unittest"
TEST = "import unittest, price\\nclass T(unittest.TestCase):\\n    def test_price(self):\\n        self.assertEqual(price.of(2), {})\\n"
FILES = {
    "price.py": "def of(count):\n    return count * 3\n",
    "test_price.py": TEST.format(6).replace("\\n", "\n"),
}
DOES = """
        - write: {path: price.py, content: "def of(count):\\n    return count * 4\\n"}
"""
EDITS = f"""
        - write: {{path: test_price.py, content: "{TEST.format(8)}"}}
"""
CLAIMS = """
        - ralph: {mark_task_complete: {task_id: a, verification_notes: The price is four.}}
"""


def script(*turns: str) -> str:
    """One attempt at task a; the files were read first, as the CLI wants."""
    reads = "        - read: [price.py, test_price.py]\n"
    return f"""
    - name: raises the price
      task: a
      turns:
{reads}{"".join(turns)}        - say: That is all.
"""


def project_of(root: Path, **fields: JsonValue) -> Path:
    one = task("a", description="The price is four", verification_criteria=[CHECK], **fields)
    return make_project(root, [one], [], files=FILES)


@pytest.mark.costly
@pytest.mark.usefixtures("played_cli")
@pytest.mark.parametrize("too_long", [False, True])
async def test_a_reviewer_reads_what_a_claim_rests_on_uncut_or_the_person_does(
    tmp_path: Path, *, too_long: bool
) -> None:
    project = project_of(tmp_path)
    edits = EDITS.replace(f'"{TEST[:6]}', f'"# {"x" * 70_000 * too_long}\\n{TEST[:6]}')
    data = f"        - write: {{path: a.py, content: \"A = '{'x' * 70_000}'\"}}\n"
    reads = "    - name: reads\n      when: Ralph Review of a\n      turns:\n        - say: Well.\n"
    review: dict[str, JsonValue] = {"phases.building.review": "needed"}
    async with serving(scenario(reads, script(DOES, edits, data, CLAIMS))) as server:
        await play(project, server, overrides={**review, "phases.building.max_iterations": 1})
        asked = [r.body for r in server.requests if "Ralph Review of a" in str(r.body["messages"])]
    assert bool(asked) is not too_long
    assert all("+        self.assertEqual(price.of(2), 8)" in str(body) for body in asked)
    assert (task_of(project, "a").status is TaskStatus.BLOCKED) is too_long

"""The person's keys stay out of a script's reach without a sandbox, too."""

import sys
import uuid
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from tests.harness.model import serving
from tests.harness.projects import events_of, make_project, task
from tests.harness.real_processes import run_ralph
from tests.harness.scenarios import scenario

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

LOOK = """\
import pathlib, sys
word = bytes.fromhex(sys.argv[1])
found = []
for place in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        if word in (place / "environ").read_bytes():
            found.append((place / "cmdline").read_bytes().replace(b"\\0", b" ")[:150])
    except OSError:
        pass
pathlib.Path(sys.argv[2]).write_text(f"{len(found)} {found}")
"""


@pytest.mark.costly
@pytest.mark.parametrize(
    "name", ["ANTHROPIC_API_KEY", pytest.param("CLAUDE_CODE_OAUTH_TOKEN", marks=pytest.mark.long)]
)
async def test_no_script_finds_the_key_in_the_environment_of_a_process(
    tmp_path: Path, name: str
) -> None:
    key = f"sk-ant-test-{uuid.uuid4().hex}"
    look = f"uv run python look.py {key.encode().hex()}"
    script = f"""
    - name: looks for the key
      task: a
      turns:
        - bash: {look} agent.txt
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: Done.}}}}
        - when: {{last_result: "ACCEPTED:"}}
          say: Done.
    """
    keys = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "", "OTHER_TOKEN": key, name: key}
    project = make_project(
        tmp_path,
        [task("a", verification_criteria=[{"command": f"{look} gate.txt"}])],
        files={"look.py": LOOK},
    )
    async with serving(scenario(script)) as server:
        ran = await run_ralph(["build", "--headless"], project, server, keys)
    assert ran.status == 0, ran.stdout + ran.stderr
    for place in ("agent.txt", "gate.txt"):
        assert (project / place).read_text() == "0 []", place
    assert [e.name for e in events_of(project) if isinstance(e, ev.ToolDenied)] == []

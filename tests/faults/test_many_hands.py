"""Lines 24, 26: commands and edits of other processes interleave with a loop's own writing; none is lost.

RALPH_OPERATIONS sets how many each process makes.
"""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from ralph_tui.domain.plan import ImplementationPlan, Task
from ralph_tui.engine.controls import Controls
from ralph_tui.store.project import Documents, Project

EACH = int(os.environ.get("RALPH_OPERATIONS", "60"))

STEERS = """
import sys
from pathlib import Path
from ralph_tui.engine.controls import Controls
controls = Controls(Path(sys.argv[1]))
for n in range(int(sys.argv[3])):
    controls.inject(f"{sys.argv[2]}-{n}")
    (controls.skip if n % 2 == 0 else controls.retry)(f"t{sys.argv[2]}")
"""

EDITS = """
import json, os, sys, time
from pathlib import Path
root = Path(sys.argv[1])
path = root / ".ralph" / "implementation_plan.json"
for n in range(int(sys.argv[3])):
    while True:  # an editor: read, change, rename over; again when somebody was faster
        before = path.read_bytes()
        plan = json.loads(before)
        plan["tasks"].append({"id": f"edit-{n}", "description": "by hand"})
        temp = path.with_name("editor.swp")
        temp.write_text(json.dumps(plan))
        if path.read_bytes() == before:
            os.replace(temp, path)
            break
"""


def begun(
    stack: ExitStack, code: str, root: Path, name: str, number: int
) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", code, str(root), name, str(number)]
    return stack.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE))


def test_nothing_of_many_hands_is_lost(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.create()
    tasks = tuple(Task(id=f"t{n}") for n in range(3))
    project.transact(lambda d: d.model_copy(update={"plan": ImplementationPlan(tasks=tasks)}))
    taken: list[str] = []
    turns = 0

    def take(documents: Documents) -> Documents:
        state = documents.state.model_copy(
            update={"iteration_count": documents.state.iteration_count + 1}
        )
        return documents.model_copy(update={"state": state, "pending": ()})

    with ExitStack() as stack:
        hands = [begun(stack, STEERS, tmp_path, str(n), EACH) for n in range(3)]
        while any(hand.poll() is None for hand in hands) or project.load().pending:
            seen: list[str] = []

            def note(documents: Documents, seen: list[str] = seen) -> Documents:
                seen[:] = [injection.guidance for injection in documents.pending]
                return take(documents)

            project.transact(note)
            taken += seen
            turns += 1
        assert [hand.wait() for hand in hands] == [0, 0, 0], [h.communicate() for h in hands]
    assert sorted(taken) == sorted(f"{n}-{i}" for n in range(3) for i in range(EACH))
    assert project.load().state.iteration_count == turns
    assert project.damage() == ()


def test_an_editor_and_a_command_do_not_take_from_each_other(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.create()
    plan = ImplementationPlan(tasks=(Task(id="t0"),))
    project.transact(lambda d: d.model_copy(update={"plan": plan}))
    number = EACH // 3
    with ExitStack() as stack:
        editor = begun(stack, EDITS, tmp_path, "e", number)
        words = 0
        while editor.poll() is None:
            words += 1
            Controls(tmp_path).inject(f"word {words}")
        assert editor.returncode == 0, editor.communicate()
    assert [i.guidance for i in project.load().pending] == [f"word {n + 1}" for n in range(words)]
    ids = [task["id"] for task in json.loads(project.layout.plan.read_bytes())["tasks"]]
    assert ids == ["t0", *(f"edit-{n}" for n in range(number))]

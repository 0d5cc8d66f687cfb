"""A model that tries a dozen ways around its check, then does the work: played on the real CLI."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.verification.verification import Inputs, Place
from tests.engine.verification.evidence.projects import PROJECT, PYTEST, RIGHT, write
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import scenario
from tests.scenario.cheat_table import MORE_CHEATS, MORE_KINDS
from tests.scenario.running import play
from tests.scenario.test_cheats import CHEATS

pytestmark = pytest.mark.real_cli

PLAYED = (
    "weaker assertion", "skip mark", "file moved away", "pytest.py", "os._exit", "atexit", "pytest.exit",
    "conftest recolors", "conftest clears", "pytest.ini", "patched selectively", "skip from the work",
)  # fmt: skip
FILES = {**PROJECT, "pyproject.toml": f'{PROJECT["pyproject.toml"]}testpaths = ["tests"]\n'}
EXTENDED = {"total.py": RIGHT, "tests/test_total.py": f"{FILES['tests/test_total.py']}\n# more\n"}


def stashed(root: Path, changes: Mapping[str, str | None]) -> str:
    """Commands that make changes to a project from files kept elsewhere."""
    write(root, {name: text for name, text in changes.items() if text is not None})
    return " && ".join(
        f"rm {name}" if text is None else f"mkdir -p {Path(name).parent} && cp {root / name} {name}"
        for name, text in changes.items()
    )


def turns(tmp_path: Path, names: tuple[str, ...]) -> str:
    """Each cheat with its claim and what undoes it, then the work itself."""
    back = stashed(tmp_path / "stash" / "back", FILES)
    lines = []
    for number, name in enumerate(names):
        changes = CHEATS[name].changes
        made = stashed(tmp_path / "stash" / str(number), changes)
        new = " ".join(path for path in changes if path not in FILES)
        lines += [
            f"- bash: {made}",
            "- ralph: {mark_task_complete: {task_id: a, verification_notes: Done.}}",
            f"- when: {{last_result: 'NOT YET:'}}\n  bash: {back}{f' && rm {new}' if new else ''}",
        ]
    lines += [
        f"- bash: {stashed(tmp_path / 'stash' / 'work', EXTENDED)}",
        "- ralph: {mark_task_complete: {task_id: a, verification_notes: Fixed.}}",
        "- when: {last_result: 'ACCEPTED:'}\n  say: Done.",
    ]
    return "- name: tries everything\n  task: a\n  turns:\n" + "\n".join(
        f"    {line}" for item in lines for line in item.splitlines()
    )


SOME = (PLAYED[0], PLAYED[4])
ALL = tuple(name for name, cheat in CHEATS.items() if cheat.kind == "pytest")


@pytest.mark.parametrize(
    ("names", "sandbox"),
    [
        (SOME, "off"),
        pytest.param(SOME, "auto", marks=pytest.mark.long),
        pytest.param(ALL, "off", marks=pytest.mark.long),
        pytest.param(ALL, "auto", marks=pytest.mark.long),
    ],
    ids=["some", "some, sandbox", "all", "all, sandbox"],
)
async def test_no_cheat_is_accepted_and_the_work_is(
    tmp_path: Path, names: tuple[str, ...], sandbox: str
) -> None:
    shutil.rmtree(tmp_path / "project", ignore_errors=True)
    project = make_project(
        tmp_path,
        [task("a", description="Make it pass")],
        [PYTEST],
        {"safety": {"sandbox": sandbox}},
        files=FILES,
    )
    async with serving(scenario(turns(tmp_path, names))) as server:
        run = await play(project, server, environ={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    gates = run.of(ev.GateFinished)
    assert [gate.passed for gate in gates] == [False] * len(names) + [True]
    refused = [" ".join(r.reason for r in gate.receipts) for gate in gates[:-1]]
    for name, reason in zip(names, refused, strict=True):
        assert reason, name
        if (
            name in PLAYED
        ):  # the others meet another project here, which may be red for more than one reason
            assert CHEATS[name].said in reason, name
    (receipt,) = gates[-1].receipts
    assert (receipt.inputs, receipt.place) == (Inputs.ORIGINALS, Place.COPY)
    assert receipt.counts is not None
    assert receipt.counts.passed == 2
    assert receipt.changed == ("tests/test_total.py (changed)",)
    assert run.end.exit_code == 0
    assert task_of(project, "a").begun is None


@pytest.mark.long
@pytest.mark.parametrize("sandbox", ["off", "auto"])
async def test_a_check_script_that_the_work_ends_is_refused(tmp_path: Path, sandbox: str) -> None:
    files, command = MORE_KINDS["pyscript"]
    config = {"safety": {"sandbox": sandbox}}
    tasks = [task("a", verification_criteria=[f"`{command}`"])]
    project = make_project(tmp_path, tasks, config=config, files=files)
    cheat = stashed(tmp_path / "cheat", MORE_CHEATS["python check exits"].changes)
    work = stashed(tmp_path / "work", {"total.py": RIGHT})
    lines = f"""
    - name: exits first
      task: a
      turns:
        - bash: {cheat}
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: Done.}}}}
        - when: {{last_result: 'NOT YET:'}}
          bash: {work}
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: Fixed.}}}}
        - when: {{last_result: 'ACCEPTED:'}}
          say: Done.
    """
    async with serving(scenario(lines)) as server:
        run = await play(project, server)
    refused, accepted = run.of(ev.GateFinished)
    said = "; ".join(receipt.reason for receipt in refused.receipts)
    assert "total.py ended check.py with status 0 before its end" in said
    assert accepted.passed

"""What each format says is what its tool means by it: `files/` has a file of each, and beside it what ralph reads in it.

`refused.txt` has files that are no plans, each with what is said of it. `pytest tests/interop/test_files.py --snapshot-update` writes down what is read now. Look at each change before you commit it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.verification.verification import CommandCriterion
from ralph_tui.interop.format_registry import built_in, formats
from ralph_tui.interop.formats import Imported, ImportOptions, InteropError, Source
from tests.interop import markdown_samples
from tests.interop.markdown_samples import FILES

OF_MARKDOWN = {sample.text: sample.path for sample in markdown_samples.ALL}
SAMPLES = sorted(path for path in FILES.iterdir() if path.suffix != ".read")
REFUSED = Path(__file__).with_name("refused.txt")


def shown(imported: Imported) -> Iterator[str]:
    plan = (imported.title, imported.branch, imported.description)
    yield "  ".join((imported.format, *filter(None, plan)))
    for task in imported.tasks:
        yield from ("", *_task(task, imported.lines[task.id]))
    yield ""
    for out in imported.left_out:
        yield f"left out: {out.id}: {out.title}: {out.reason}"
    yield from (f"remark: {text}" for text in imported.remarks)
    yield from (f"unread: {name}" for name in sorted(imported.unread))


def _task(task: Task, line: int) -> Iterator[str]:
    states = (task.status.value, "held" if task.held else "", *task.blockers)
    yield f"{task.id}  line {line}, {', '.join(filter(None, states))}, priority {task.priority}"
    facts = {"group": (task.group,), "labels": task.labels, "after": task.dependencies}
    for name, values in facts.items():
        if any(values):
            yield f"    {name}: {', '.join(values)}"
    yield from _indented(task.description)
    for criterion in task.verification_criteria:
        said = f"$ {criterion.command}" if isinstance(criterion, CommandCriterion) else criterion
        yield f"    [ ] {said}"
    yield from _indented(task.notes, "notes: ")


def _indented(text: str, before: str = "") -> Iterator[str]:
    lines = text.splitlines()
    yield from (f"    {before}{line}".rstrip() for line in lines)


def test_every_format_has_a_sample() -> None:
    found = {path.with_suffix(".read").read_text(encoding="utf-8").split()[0] for path in SAMPLES}
    assert found == {importer.name for importer in built_in()}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_file_is_read_as_written_beside_it(path: Path, pytestconfig: pytest.Config) -> None:
    text = path.read_bytes().decode()
    source = Source(OF_MARKDOWN.get(text, path.name), text)
    importer = formats().detect(source)
    lines = list(shown(importer.read(source, ImportOptions())))
    if "tags" in path.name:
        lines += ["", *shown(importer.read(source, ImportOptions(tag="login")))]
    grouped = importer.read(source, ImportOptions(by="group")).tasks
    assert not ImplementationPlan(tasks=grouped).problems()
    lines.append(f"by group: {', '.join(task.id for task in grouped)}")
    beside = path.with_suffix(".read")
    if pytestconfig.option.update_snapshots:
        beside.write_text("\n".join((*lines, "")), encoding="utf-8")
    assert "\n".join((*lines, "")) == beside.read_text(encoding="utf-8")


def refusal(source: Source, options: dict[str, str]) -> str:
    try:
        named = options.get("as")
        importer = formats().named(named) if named else formats().detect(source)
        importer.read(source, ImportOptions(tag=options.get("tag", "")))
    except InteropError as told:
        return str(told)
    return "taken"


def test_each_file_that_is_no_plan_is_refused_as_written_below_it(
    pytestconfig: pytest.Config,
) -> None:
    before, now = REFUSED.read_text(encoding="utf-8"), []
    for case in before.removeprefix("=== ").split("\n\n=== "):
        text = case.partition("\n! ")[0]
        head, _, content = text.partition("\n")
        name, *options = head.split()
        said = refusal(Source(name, content), dict(option.split("=") for option in options))
        now.append(f"=== {text}\n! {said}\n")
    if pytestconfig.option.update_snapshots:
        REFUSED.write_text("\n".join(now), encoding="utf-8")
    assert "\n".join(now) == REFUSED.read_text(encoding="utf-8")
    assert not any("! taken" in case for case in now)

"""Runs of the loop on the real CLI as texts: what stands in the project, what the model does, and what comes of it.

Each run in `runs/` begins with `# its title [marks]`. Then, from the left edge:

- `task ID FIELDS` puts a task into the plan, `gate COMMAND` a check of the project, `config FIELDS` settings into its file,
  `> FILE TEXT` a file (lines behind `|` are its text, too), and `set KEY VALUE` a setting of the runs that follow.
- `model NAME ARGUMENTS` is a script of tests/harness/scenarios.py. `plays NAME FIELDS` is one of its own,
  with a turn behind each `|`; `claim ID` is the claim of a task.
- `env NAME VALUE` sets a variable and `patch NAME VALUE` a constant of ralph; `cli` puts a script in place of the CLI, which is `CLI` in it.
- `$ loop FLAGS` plays the loop; `@ EVENT WORDS: ACT` below it is what a person does when they are told that, and `@ then: ACT` at once.
- `$ ralph ...` and `$ any shell text` run as they stand; `? WORDS` asks which scripts had these words in their prompt, `? model X`
  which had that model, `? offers X` which had that tool (`to NAME` asks one), and `? output TOOL` what the tool printed in the last loop.
  `? beginnings` asks how many sessions began with other tools and rules, which are paid for anew.

What follows further in is what happened: the lines that a person reads without a screen, then the status and each task.
`pytest tests/scenario/test_runs.py --snapshot-update` writes down what happens now. Look at each change before you commit it.
"""

import asyncio
import inspect
import os
import re
import shlex
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import indent

import pytest
import yaml
from pydantic import JsonValue

from ralph_tui.agent import process
from ralph_tui.demo.server import ModelServer, RecordedRequest
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import parse_answer
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import Addition, OwnPrompt, RunRequest
from ralph_tui.present.timeline.event_lines import EventPrinter
from tests.cli.processes import beside
from tests.cli.test_words import steady
from tests.harness import scenarios
from tests.harness.model import serving
from tests.harness.projects import ALWAYS_GREEN, events_of, laid_over, make_project, plan_of, task
from tests.harness.tables import Case, Line, cases, lines_of, title, write_file
from tests.harness.waiting import until
from tests.scenario.running import Run, play

RUNS = sorted(Path(__file__).with_name("runs").glob("*.txt"))
BEFORE = ("task", "gate", "config", ">")
"""What is said before the project is made; a file may be written later, too."""


def marks_of(text: str) -> list[pytest.MarkDecorator]:
    found = re.search(r"\[(.*)\]$", text.partition("\n")[0])
    known = {
        "sandbox": pytest.mark.needs("sandbox"),
        "node": pytest.mark.needs("node"),
        "long": pytest.mark.long,
        "costly": pytest.mark.costly,
    }
    return [known[name] for name in (found[1].split(", ") if found else ()) if name in known]


def parameters() -> Iterator[object]:
    for path in RUNS:
        for case in cases(path):
            yield pytest.param(case, id=f"{path.stem}: {title(case)}", marks=marks_of(case.text))


@pytest.mark.parametrize("case", [*parameters()])
def test_a_run(case: Case, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if re.search(r"\A.*\[.*\bplayed\b.*\]$", case.text, re.MULTILINE):
        request.getfixturevalue("played_cli")
    with pytest.MonkeyPatch.context() as patches:
        case.compare(asyncio.run(whole(case.text, tmp_path, patches)), request.config)


async def whole(text: str, root: Path, patches: pytest.MonkeyPatch) -> str:
    async with AsyncExitStack() as stack:
        return "".join([part async for part in replayed(text, Replay(root, stack, patches))])


@dataclass
class Replay:
    """What one text has said so far."""

    root: Path
    stack: AsyncExitStack
    patches: pytest.MonkeyPatch
    tasks: list[dict[str, JsonValue]] = field(default_factory=list)
    gates: list[str] | None = None
    config: dict[str, object] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    settings: dict[str, object] = field(default_factory=dict)
    scripts: list[str] = field(default_factory=list)
    server: ModelServer | None = None
    project: Path | None = None
    run: Run | None = None

    def prepare(self, line: Line) -> None:
        """Take what stands before the first `$`."""
        match line.sign:
            case "task":
                name, _, fields = line.rest.partition(" ")
                self.tasks.append(task(name, **yaml.safe_load(fields or "{}")))
            case "gate":
                self.gates = [*(self.gates or ()), *filter(None, [line.rest])]
            case "config":
                self.config = laid_over(self.config, yaml.safe_load(line.rest))
            case _:
                self.files[line.name] = line.data.decode()

    def made(self) -> Path:
        if self.project is None:
            gates = (ALWAYS_GREEN,) if self.gates is None else self.gates
            self.project = make_project(self.root, self.tasks, gates, self.config, self.files)
        return self.project

    def add(self, script: str) -> None:
        self.scripts.append(script)
        self.server = None

    async def serve(self) -> ModelServer:
        if self.server is None:
            self.server = await self.stack.enter_async_context(
                serving(scenarios.scenario(*self.scripts))
            )
            self.scripts = []
        return self.server


async def replayed(text: str, replay: Replay) -> AsyncIterator[str]:
    for line in lines_of(text):
        yield line.given
        if line.sign in BEFORE and replay.project is None:
            replay.prepare(line)
        elif line.sign != "#":
            said = "".join([part async for part in done(line, replay)])
            yield indent(re.sub(r"\n\s*\n", "\n", f"{said}\n" if said else ""), "    ")


async def done(line: Line, replay: Replay) -> AsyncIterator[str]:
    match line.sign:
        case "?" if line.name == "output":
            assert replay.run is not None
            ended = replay.run.of(ev.ToolFinished)
            outputs = [one.output for one in ended if one.name == line.data.decode()]
            yield even("".join(f"{output}\n" for output in outputs), replay)
        case "?" if line.rest == "beginnings":
            assert replay.server is not None
            first = [one.body for one in replay.server.requests if one.turn == 0]
            different = {str((body.get("tools"), body.get("system"))) for body in first}
            yield f"{len(different)} of {len(first)} sessions\n"
        case "?":
            assert replay.server is not None
            yield f"{heard(line.rest, replay.server)}\n"
        case "$" if line.rest.startswith("loop"):
            async for part in looped(line, replay):
                yield part
        case "$" if line.rest.startswith("ralph "):
            opened = Controls(replay.made()).open_questions()
            words, _, pipe = line.rest.replace(
                "QUESTION", opened[0].id if opened else ""
            ).partition(" | ")
            ran = await beside(*shlex.split(words)[1:], cwd=replay.made())
            said = await shell(pipe, replay.made(), ran.stdout) if pipe else ran.stdout
            said += "".join(f"! {one}\n" for one in ran.stderr.splitlines())
            yield even(said, replay) + f"[{ran.returncode}]\n"
        case "$":
            yield even(await shell(line.rest, replay.made()), replay)
        case _:
            ARRANGES[line.sign](line, replay)


def put_in_place_of_the_cli(line: Line, replay: Replay) -> None:
    cli, real = replay.root / "claude", shlex.quote(str(process.bundled_cli()))
    cli.write_text(line.text.replace("CLI", real), encoding="utf-8")
    cli.chmod(0o700)
    replay.patches.setattr(process, "bundled_cli", lambda: cli)


def set_variable(line: Line, replay: Replay) -> None:
    value = line.data.decode().replace("ROOT", str(replay.root))
    replay.patches.setenv(line.name, os.path.expandvars(value))


ARRANGES: dict[str, Callable[[Line, Replay], None]] = {
    "set": lambda line, replay: replay.settings.update({line.name: yaml.safe_load(line.data)}),
    "env": set_variable,
    "patch": lambda line, replay: replay.patches.setattr(line.name, yaml.safe_load(line.data)),
    "cli": put_in_place_of_the_cli,
    "model": lambda line, replay: replay.add(script(line.rest)),
    "plays": lambda line, replay: replay.add(own_script(line)),
    ">": lambda line, replay: write_file(replay.made(), line),
}
"""What somebody arranges once the project is there."""


def script(text: str) -> str:
    """A script by its name, with words and `name=value`."""
    name, *words = shlex.split(text)
    make: Callable[..., str] = getattr(scenarios, name)
    named = dict(word.split("=", 1) for word in words if re.match(r"\w+=", word))
    plain = [word for word in words if not re.match(r"\w+=", word)]
    kinds = {k: type(p.default) for k, p in inspect.signature(make).parameters.items()}
    given = {k: v if kinds[k] is str else yaml.safe_load(v) for k, v in named.items()}
    return make(*plain, **given)


def own_script(line: Line) -> str:
    name, _, fields = line.rest.partition(" {")
    claim = r"ralph: {mark_task_complete: {task_id: \1, verification_notes: Done.}}"
    text = re.sub(r"(?m)^( *)claim (\S+)$", rf"\1{claim.replace('1', '2', 1)}", line.text)
    turns = yaml.safe_load(re.sub(r"(?m)^(?=\S)", "- ", text))
    given = {"name": name, **yaml.safe_load("{" + fields if fields else "{}"), "turns": turns}
    return yaml.safe_dump([given], sort_keys=False, width=10_000)


async def looped(line: Line, replay: Replay) -> AsyncIterator[str]:
    project, server = replay.made(), await replay.serve()
    asked = len(server.requests)
    run: Run | None = None

    async def person(run: Run) -> None:
        seen = 0
        for act in line.acts:
            told, _, what = act.partition(": ")
            seen = seen if told == "then" else await told_of(run, told, seen)
            await acted(what, run, run.events[seen - 1])

    try:
        request = requested(shlex.split(line.rest)[1:], project)
        run = await play(
            project, server, overrides=replay.settings, request=request, meanwhile=person
        )
    except RalphError as error:
        yield even(f"! {error.message}\n! {error.hint}\n", replay)
    replay.run = run
    if run is not None:
        is_kept_whole(run)
        printer = EventPrinter()
        printed = [str(one) for event in run.events for one in printer.lines(event)]
        kept = [
            one
            for one in printed
            if not one.lstrip().startswith(("· session with", "↻ rewritten", "Per task:"))
            and "The user doesn't want to proceed" not in one  # a call that a stop cut short
        ]
        yield even("\n".join((*kept, f"[{run.end.exit_code}]\n")), replay)
    if not (run and run.of(ev.IterationStarted)) and not server.requests[asked:]:
        yield "The model was asked nothing.\n"
    yield "".join(f"{why.splitlines()[0]}\n" for why in server.unmatched)
    for one in plan_of(project).tasks:
        yield even(f"{board_line(one)}\n", replay)


def is_kept_whole(run: Run) -> None:
    """The journal has all that was told, and live text is what was said in the end."""
    journal = events_of(run.project)
    assert [event.seq for event in journal] == list(range(1, len(journal) + 1))
    told = [event for event in run.events if not event.transient]
    assert journal[-len(told) :] == told
    live = ""
    for event in run.events:
        if isinstance(event, ev.TextDelta):
            live += event.text
        elif isinstance(event, ev.AssistantText):
            assert event.text.startswith(live) or run.of(ev.ApiRetry), "it was said once more"
            live = ""


def requested(flags: list[str], project: Path) -> RunRequest:
    """What a person asks for; a flag without a value is a wish, and the default is to build."""
    given = dict(flag.removeprefix("--").partition("=")[::2] for flag in flags)
    only = given.get("only", "building")
    prompt, adds = given.get("prompt"), given.get("adds")
    return RunRequest(
        text=given.get("text", ""),
        only=None if only == "all" else Phase(only),
        assume_yes="yes" in given,
        no_input="no-input" in given,
        interactive="here" in given,
        once="once" in given,
        prompt=OwnPrompt((project / prompt).read_text("utf-8"), prompt) if prompt else None,
        addition=Addition((project / adds).read_text("utf-8"), adds) if adds else None,
        compacts="compacts" in given,
    )


async def told_of(run: Run, words: str, seen: int) -> int:
    """Wait for an event of that type with these words, behind those that were waited for before."""
    kind, _, part = words.partition(" ")

    def place() -> int:
        for number, event in enumerate(run.events[seen:], seen + 1):
            if event.type == kind and part in event.model_dump_json():
                return number
        return 0

    await until(place, what=words)
    return place()


async def acted(what: str, run: Run, event: ev.Event) -> None:
    controls, (verb, _, rest) = Controls(run.project), what.partition(" ")
    match verb:
        case "approve" | "reject":
            await asyncio.to_thread(
                lambda: controls.decide(approved=verb == "approve", reason=rest, by="screen")
            )
        case "answer":
            assert isinstance(event, ev.QuestionAsked)
            given = parse_answer(event.question.question, rest, by="command")
            await asyncio.to_thread(controls.answer, event.question.id, given)
        case "stop":
            await asyncio.to_thread(lambda: controls.stop(now=rest == "now"))
        case "pause" | "resume" | "retry_now":
            await asyncio.to_thread(getattr(controls, verb))
        case "inject":
            await asyncio.to_thread(controls.inject, rest, now=True)
        case "ralph":
            ran = await beside(*shlex.split(rest), cwd=run.project)
            assert ran.returncode == 0, ran.stderr
        case "sh":
            await shell(rest, run.project)
        case _:
            assert verb == "see", what


async def shell(text: str, project: Path, given: str = "") -> str:
    child = await asyncio.create_subprocess_exec(
        "bash", "-c", text, cwd=project, stdin=PIPE, stdout=PIPE, stderr=STDOUT
    )
    output, _ = await child.communicate(given.encode())
    return output.decode() + (f"[{child.returncode}]\n" if child.returncode else "")


def heard(words: str, server: ModelServer) -> str:
    """Which scripts were sent these words: the first turn of each session that was; `model X` asks for their model."""
    kind, _, name = words.partition(" ")
    name, _, only = name.partition(" to ") if kind == "offers" else (name, "", "")
    found: dict[tuple[str, str], int] = {}
    for request in server.requests:
        if (
            request.script
            and only in ("", request.script)
            and (
                name in str(request.body["model"])
                if kind == "model"
                else f"'name': '{name}'" in str(request.body.get("tools"))
                if kind == "offers"
                else words in prompt_of(request)
            )
        ):
            found.setdefault((request.session, request.script), request.turn or 0)
    told = [f"{name} (turn {turn + 1})" for (_, name), turn in found.items()]
    return ", ".join(told) or "nobody"


def prompt_of(request: RecordedRequest) -> str:
    """All texts of a request, with each space or end of a line as one space."""

    def texts(value: JsonValue) -> Iterator[str]:
        match value:
            case dict():
                for inner in value.values():
                    yield from texts(inner)
            case list():
                for inner in value:
                    yield from texts(inner)
            case str():
                yield value

    body = request.body
    return " ".join(" ".join(texts([body.get("system"), body["messages"]])).split())


def board_line(one: Task) -> str:
    rests = one.verification
    parts = [
        one.status.value,
        f"{rests.outcome.value}: {rests.reason}" if rests else "",
        f"notes: {one.completion_notes}" if one.completion_notes else "",
        f"{one.retry_count} failed" if one.retry_count else "",
        f"reopened {one.reopened}" if one.reopened else "",
        "held" if one.is_held else "",
        "may be unverified" if one.may_be_unverified else "",
        "last failure kept" if one.last_failure else "",
        *one.blockers,
    ]
    return f"{one.id}: {', '.join(filter(None, parts))}"


def even(text: str, replay: Replay) -> str:
    """Leave out times, money and sizes, which differ from run to run, how often a line comes in a row,
    and which of a check and the words beside the claim comes first."""
    text = steady(text, replay.made())
    for pattern, instead in STEADY.items():
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return text


STEADY = {
    r"\$\d([\d.,]*\d)?": "$N",
    r"\b\d[\d.]*(ms|s|m|min|h)\b( \d+(s|m|min)\b)?": "N s",
    r"(· N s), (\+\d+( -\d+)?|\d+ lines?)$": r"\1",
    r"(\(phase-files\)) in `[^`]*`": r"\1",
    r"/project/(?=\w)": "",
    r"context \S+( \(\d+ %\))?": "context N",
    r"\d{8}T\d{6}(\d*Z)?": "WHEN",
    r"\bq-[0-9a-f]{8}-": "q-ID-",
    r"\b(?=[a-f]*\d)([0-9a-f]{10}|[0-9a-f]{32,40})\b": "ID",
    r", limits \$N / \$N / \$N \(iteration / run / project\)": "",
    r"^( *◆ verifying .+\n)(( *• .+\n)+)": r"\2\1",
    r"^(.+\n)\1+": r"\1",
}

"""The screen as texts: keys, and what stands on the screen then.

Each case in `sessions/` begins with `# what it shows [marks]` and has an app of its own. Then, from the left edge, where EXPRESSION
may use all of feed.py, waiting.py, past.py, the events, `script`, `app` and `root`, an empty directory:

- `on EXPRESSION` says what the loop tells, or the project. `screen 80x24`, `idle` (no loop runs) and `file NAME TEXT` may stand before it.
- `> ctrl+y "typed words" enter` presses keys. `click`, `double` and `drag WORDS` are the mouse's, `size 50x12` is the terminal's.
- `event EXPRESSION` is news of the loop, `disk EXPRESSION` of the watcher, `clock SECONDS` lets time pass, `show` is for what is there
  before a key. `do STATEMENT` changes something, `? EXPRESSION` asks for its value.

What follows further in is what came of it: `→` what reached the loop, `!` a message, `⧉` what was copied, the screen in brackets where it
is another one, the lines that it did not have when it was seen last (after `-` those that went without another), and after `▸` the line
of the cursor. `pytest tests/tui/test_sessions.py --snapshot-update` writes down what happens now. Look at each change before you commit.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from textual.notifications import Notifications
from textual.pilot import Pilot
from textual.screen import ModalScreen

from ralph_tui.config.load import load_settings
from ralph_tui.domain import errors, project_state
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents import questions
from ralph_tui.domain.plan import plan
from ralph_tui.present.text.spans import plain
from ralph_tui.store.project import Project
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.widgets.row_list import RowList
from tests.harness.tables import Case, cases, spelled, title
from tests.tui import feed, past, pictures, waiting
from tests.tui.conftest import (
    DIRECT_KEYS,
    Moment,
    app_of,
    click_on,
    drag,
    drained,
    screen_text,
    script_of,
    until,
)
from tests.tui.feed import Script
from tests.tui.test_pictures import calm

SESSIONS = sorted(Path(__file__).with_name("sessions").glob("*.txt"))
NAMES = {
    **{
        name: value
        for module in (plan, project_state, questions, errors, ev)
        for name, value in vars(module).items()
    },
    **{
        name: value
        for module in (past, pictures, feed, waiting)
        for name, value in vars(module).items()
    },
    **project_state.ApprovalKind.__members__,
    "Project": Project,
    "load_settings": load_settings,
}


def parameters() -> Iterator[object]:
    for path in SESSIONS:
        for case in cases(path):
            marks = case.text.partition("\n")[0].partition(" [")[2].rstrip("]").split(", ")
            known = [getattr(pytest.mark, name) for name in marks if name]
            yield pytest.param(case, id=f"{path.stem}: {title(case)}", marks=known)


@pytest.mark.parametrize("case", [*parameters()])
async def test_a_session(
    case: Case, tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        names = {**NAMES, "root": tmp_path}
        session = Session(tmp_path, stack, names, renews=pytestconfig.option.update_snapshots)
        monkeypatch.setattr(Notifications, "add", lambda _, toast: session.says(toast.message))
        monkeypatch.setattr(RalphApp, "bell", lambda _: session.says("(bell)"))
        now = "".join([part async for part in replayed(case.text, session)])
    case.compare(now, pytestconfig)


async def replayed(text: str, session: "Session") -> AsyncIterator[str]:
    for words, more in re.findall(r"^(?! )(.*)\n?((?:  .*\n?)*)", text, re.MULTILINE):
        yield f"{words}\n"
        if words and words[0] != "#":
            expected = [line[4:] for line in more.splitlines()]
            for line in await session.done(words, expected):
                yield f"    {line}\n"


@dataclass
class Session:
    """What one case has shown so far."""

    root: Path
    stack: AsyncExitStack
    names: dict[str, object]
    renews: bool
    size: tuple[int, int] = (120, 40)
    runs: bool = True
    differs: bool = False
    moment: Moment = field(default_factory=Moment)
    pilot: Pilot[int] | None = None
    messages: list[str] = field(default_factory=list)
    seen: dict[str, list[str]] = field(default_factory=dict)
    """What was told of each thing last."""
    known: dict[str, list[str]] = field(default_factory=dict)

    def says(self, text: str) -> None:
        self.messages.append(re.sub("TMP.*", "TMP", self.steady(text)))

    @property
    def app(self) -> RalphApp:
        app = self.names["app"]
        assert isinstance(app, RalphApp)
        return app

    @property
    def script(self) -> Script:
        script = self.names["script"]
        assert isinstance(script, Script)
        return script

    def value(self, text: str) -> object:
        return eval(text, self.names)

    async def done(self, words: str, expected: list[str]) -> list[str]:
        """Do what the words say, and wait for what is expected, or until nothing moves any more."""
        verb, _, rest = words.partition(" ")
        match verb:
            case "screen":
                self.size = size_of(rest)
            case "idle":
                self.runs = False
            case "on":
                on = self.value(rest)
                self.names["script"] = on if isinstance(on, Script) else script_of(events_of(on))
            case "file":
                name, _, text = rest.partition(" ")
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                (self.root / name).write_bytes(spelled(text))
            case "do":
                exec(rest, self.names)
            case "?":
                pilot = self.pilot or await self.opened()
                await self.wait(pilot, lambda: [repr(self.value(rest))] == expected)
                return [repr(self.value(rest))]
            case _:
                pilot = self.pilot or await self.opened()
                await self.act(verb, rest, pilot)
                held = await self.wait(pilot, lambda: self.told() == expected)
                told = expected if held else self.told()
                self.seen = self.known
                self.messages.clear()
                return told
        return []

    async def opened(self) -> Pilot[int]:
        app = app_of(self.script, autostart=self.runs, clock=self.moment, keys=DIRECT_KEYS)
        self.names["app"] = app
        self.pilot = await self.stack.enter_async_context(app.run_test(size=self.size))
        await until(
            self.pilot, lambda: bool(self.script.runs if self.runs else self.script.watches)
        )
        await calm(self.pilot)
        if app.screen is app.dashboard:
            self.told()
            self.seen = self.known
        return self.pilot

    async def wait(self, pilot: Pilot[int], holds: Callable[[], bool]) -> bool:
        """Wait until it holds, or else until nothing moves any more; what was not so once is not waited for again."""
        if self.app._exit:
            return False
        if self.renews or self.differs:
            for _ in range(5):
                await calm(pilot)
            return False
        await drained(pilot)
        try:
            await until(pilot, holds)
        except AssertionError:
            self.differs = True
        return not self.differs

    async def act(self, verb: str, rest: str, pilot: Pilot[int]) -> None:
        match verb:
            case ">":
                for typed, key in re.findall(r'"([^"]*)"|(\S+)', rest):
                    await pilot.press(*(typed or [key]))
            case "click" | "double":
                await click_on(pilot, rest, times=1 if verb == "click" else 2)
            case "drag":
                await drag(pilot, rest)
            case "size":
                await pilot.resize_terminal(*size_of(rest))
            case "event" | "disk":
                queue = self.script.news if verb == "event" else self.script.disk
                for event in events_of(self.value(rest)):
                    queue.put_nowait(event)
            case "clock":
                self.moment.passes(float(rest))
                self.app.lifecycle.refresher.tick()
            case _:
                assert verb == "show", f"nobody knows {verb!r}"
                self.seen = {}

    def told(self) -> list[str]:
        """What is new since the last step; `known` is all then."""
        app, script, seen = self.app, self.script, self.seen
        name = type(app.screen).__name__
        known = {
            "→ run": [""] * script.runs,
            "→ request ": script.requests,
            "→ plan anew ": script.replans,
            "→ ": script.controls.asked,
        }
        told = [
            f"{kind}{what}".replace("\n", "⏎").rstrip()
            for kind, all_ in known.items()
            for what in all_[len(seen.get(kind, ())) :]
        ]
        told += [f"! {text}" for text in self.messages]
        known = {kind: [*all_] for kind, all_ in known.items()}
        known["⧉"] = app.clipboard.splitlines()
        if known["⧉"] != seen.get("⧉", []):
            told += [f"⧉ {line}".rstrip() for line in known["⧉"]]
        if app._exit:
            return [*told, f"exit {app.return_value}"]
        known |= {"title": [f"title {app.title}"], "screen": [f"[{name}]"]}
        known[f"▸ {name}"] = [f"▸ {cursor_of(app)}"]
        for part in ("title", "screen"):
            told += known[part] if known[part] != seen.get(part) else []
        known[name] = self.rows()
        told += changes(seen.get(name, []), known[name])
        if known[f"▸ {name}"] != seen.get(f"▸ {name}"):
            told += known[f"▸ {name}"]
        self.known = {**seen, **known}
        return told

    def rows(self) -> list[str]:
        """The rows of the screen without borders and gaps; of a dialog its frame and its keys alone."""
        rows = screen_text(self.app).splitlines()
        frames = self.app.screen.query(".dialog")
        if isinstance(self.app.screen, ModalScreen) and frames:
            x, y, width, height = frames.first().region
            below = [one.region for one in self.app.screen.query("SearchLine, DialogFooter")]
            foot = [row for r in sorted(below, key=lambda r: r.y) for row in rows[r.y : r.bottom]]
            rows = [row[x : x + width] for row in rows[y : y + height]] + foot
        assert "".join(rows).isprintable()
        plain = (re.sub(r"[╭╮╰╯▁-█▔]", "", row) for row in rows)
        found = (re.sub(r"\s*[│┃]+\s*", " │ ", row).strip(" │") for row in plain)
        short = (re.sub(r"  +", "  ", re.sub(r"──+", "─", row)) for row in found)
        return [self.steady(row) for row in short if row.strip("─ │")]

    def steady(self, text: str) -> str:
        """Leave out what differs from run to run: times of now, and paths in a temporary directory."""
        text = re.sub(r"\S*/ralph-crash-\S*", "REPORT", text)
        text = re.sub(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\]", "[WHEN]", text)
        start, end = re.escape(str(self.root)[:8]), re.escape(self.root.name)
        return re.sub(rf"{start}\S*|\S*{end}\S*", "TMP", text)


def changes(before: list[str], now: list[str]) -> Iterator[str]:
    for what, first, last, start, end in SequenceMatcher(None, before, now, False).get_opcodes():
        if what == "delete":
            yield from (f"- {line}" for line in before[first:last])
        elif what != "equal":
            yield from now[start:end]


def cursor_of(app: RalphApp) -> str:
    here = app.focused
    line = ""
    if isinstance(here, RowList) and here.cursor is not None:
        y = here.row_of(here.cursor)
        line = (
            ""
            if y is None
            else " ".join(plain(here.row_line(y, here.row_width)).strip("▸ ").split())
        )
    return f"{here.id or type(here).__name__}: {line}".rstrip(": ") if here else "nothing"


def events_of(value: object) -> list[ev.Event]:
    given = value if isinstance(value, list) else [value]
    events = [event for event in given if isinstance(event, ev.Event)]
    assert len(events) == len(given)
    return events


def size_of(text: str) -> tuple[int, int]:
    width, _, height = text.partition("x")
    return int(width), int(height)

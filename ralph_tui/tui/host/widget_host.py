"""What widgets, screens and handlers may use of the app, so that none of them imports it."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import ClassVar, Protocol, TypeVar, runtime_checkable

from textual.app import App
from textual.dom import DOMNode
from textual.reactive import var
from textual.worker import Worker

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import Notice
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.engine.control.launch import Launch
from ralph_tui.present.text.glyphs import Glyphs, choose
from ralph_tui.present.text.key_hints import Keys, commands_as_key_text
from ralph_tui.present.text.spans import Tone
from ralph_tui.store.crash_reports import write_report
from ralph_tui.tui.commands.availability import CommandContext
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.commands.custom_keys import Keymap, keymap_of, keys_of
from ralph_tui.tui.commands.registry import name_of
from ralph_tui.tui.host.bridge import Bridge
from ralph_tui.tui.terminal.line_cache import draw_scroll_bars
from ralph_tui.tui.terminal.private import write_escape

KEEP_TITLE, OLD_TITLE = "\x1b[22;0t", "\x1b[23;0t"
"""Save the terminal's title, and restore it."""

_SENDER = "ralph"
_LONGEST = 200
"""Characters of a notification; desktops cut longer ones."""


def notification(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the escape that makes this terminal show a desktop notification.

    Each family of terminals has its own; terminals ignore an escape they do not know, so one is enough.
    """
    body = one_line(inert(text), _LONGEST).replace(";", ",")
    if environ.get("KITTY_WINDOW_ID") or environ.get("TERM") == "xterm-kitty":
        sent = f"\x1b]99;i={_SENDER}:d=0;{_SENDER}\x1b\\\x1b]99;i={_SENDER}:p=body;{body}\x1b\\"
    elif environ.get("VTE_VERSION") or environ.get("TERM", "").startswith(("foot", "rxvt")):
        sent = f"\x1b]777;notify;{_SENDER};{body}\x1b\\"
    else:
        sent = f"\x1b]9;{_SENDER}: {body}\x1b\\"
    return _through_tmux(sent) if environ.get("TMUX") else sent


def _through_tmux(escape: str) -> str:
    """Wrap an escape so that tmux passes it to its terminal, if allow-passthrough permits."""
    doubled = escape.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"


def window_title(title: str) -> str:
    return f"\x1b]0;{title}\x07"


TOAST = 160

CLIPBOARD_BYTES = 74_994
"""Bytes that every terminal with a clipboard (OSC 52) accepts; many ignore longer texts."""


def copied_message(text: str, *, first: bool) -> str:
    """Return a message with the number of lines, and what to do if the clipboard did not get them."""
    message = f"Copied {plural(len(text.splitlines()), 'line')}."
    if len(text.encode()) > CLIPBOARD_BYTES:
        return f"{message} Many terminals ignore text this long. Press {{share}} to save it, too."
    hint = "If your clipboard did not change, press {share} to save a file, too."
    return f"{message} {hint}" if first else message


Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


class TaskPicker(DOMNode):
    """A screen in which a task can be selected; commands act on the selected task."""

    @property
    def selected(self) -> Task | None:
        raise NotImplementedError

    def choose(self, task: Task) -> None:
        raise NotImplementedError


@runtime_checkable
class CommandScreen(Protocol):
    """A screen with its own commands, which the palette and the help list first."""

    NAME: str
    page_commands: tuple[Command, ...]

    def not_now(self, name: str) -> str:
        """Return why one of its commands cannot be used now, or an empty string if it can."""

    def action_invoke(self, name: str) -> None:
        """Run a command of its own, or pass it to the app."""


class Host(App[int]):
    """The part of the app that widgets, screens and handlers may use."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"tone--{tone}" for tone in Tone}

    view: var[LoopView] = var(LoopView, init=False)
    """The state of the loop, reduced from its events; replaced as a whole, at most twenty times a second."""

    chosen_theme = ""
    """The theme in use, even while another one is previewed."""

    findings: tuple[Notice, ...] = ()
    """Results of the checks before a run: models, limits, problems."""

    request: str | None = None
    """The project's request that is not done yet; empty for none, None while unknown."""

    foreign_plans: tuple[str, ...] = ()
    """Plans of other tools in the project that could be imported; looked for only where there is no plan."""

    exit_message = ""
    """Printed to the terminal after the screen has closed."""

    invoke: Callable[[str], None]
    watch_again: Callable[[], None]
    """Restarts watching the project, because another feature was chosen; set by `app`."""

    work_ended: Callable[[], None]
    """Called when background work has ended, because keys may have waited for it; set by `app`."""

    def __init__(self, launch: Launch, clock: Clock) -> None:
        self.launch = launch
        self.clock = clock
        self.last_key_at: datetime | None = None
        self.glyphs: Glyphs = choose()
        self.keymap: Keymap = keymap_of(launch.screen.keys)
        self.keys: Keys = keys_of(self.keymap)
        self.bridge = Bridge(launch, clock)
        draw_scroll_bars(unicode=self.glyphs.unicode)
        super().__init__()

    def keys_of(self, command: Command) -> tuple[str, ...]:
        return self.keys.of[name_of(command)]

    def action_press(self, key: str) -> None:
        """Press a key that was clicked; a letter is not typed into the focused field."""
        focused = self.screen.focused
        if len(key) == 1 and focused is not None and focused.check_consume_key(key, key):
            self.screen.set_focus(None)
        # Later, so that the app is the sender: an event does not bubble beyond its sender.
        self.call_later(self.simulate_key, key)

    def copy_to_clipboard(self, text: str) -> None:
        """Send a text to the terminal's clipboard and show a toast; an empty text changes nothing."""
        if not text.strip():
            self.show_message("There is nothing to copy.")
            return
        first = not self.clipboard
        super().copy_to_clipboard(text)
        self.show_message(self.keys.said(copied_message(text, first=first)))

    def mouse_selection(self) -> str:
        return self.screen.get_selected_text() or ""

    def command_context(self) -> CommandContext:
        screens = (
            screen for screen in reversed(self.screen_stack) if isinstance(screen, TaskPicker)
        )
        picking = next(screens, None)
        return CommandContext(
            self.view,
            self.keys,
            self.bridge.live,
            picking.selected if picking is not None else None,
            takes_requests=self.launch.run_request is not None,
            can_replan=self.launch.run_replan is not None,
            imports=self.launch.importer is not None,
            request=self.request,
        )

    def action_invoke(self, name: str) -> None:
        self.invoke(name)

    # Messages to the person.

    def show_message(self, text: str, *, error: bool = False) -> None:
        """Show a toast. Hostile text is safe here; never show something important in a toast alone."""
        shown = one_line(inert(text), TOAST)
        if error:
            self.notify(shown, title="problem", severity="error", markup=False)
        else:
            self.notify(shown, markup=False)

    def report_problem(self, text: str) -> None:
        self.show_message(text, error=True)
        self.bridge.sink(Notice(level="error", text=text))

    async def failed(self, error: Exception) -> None:
        path = await asyncio.to_thread(write_report, error, self.launch.root)
        self.report_problem(f"Unexpected error: {error_line(error)}. The details are in {path}.")

    def alert(self, text: str) -> None:
        """Ring the bell, and send a desktop notification as the settings ask: on blur, always or never."""
        self.bell()
        when = self.launch.screen.notifications
        wanted = when == "always" or (when == "blur" and not self.app_focus)
        if wanted and not self.is_web:
            write_escape(self, notification(text))


def error_line(error: Exception) -> str:
    return f"{type(error).__name__}: {one_line(str(error), 300)}"


T = TypeVar("T")


def do(
    node: DOMNode, work: Awaitable[object], group: str, *, exclusive: bool = False
) -> Worker[None]:
    """Start `work` in a worker of `node`; a bug in the work does not close the screen.

    Args:
        exclusive: Whether to cancel other work of the group first.
    """
    app = node.app
    assert isinstance(app, Host)
    return node.run_worker(
        _guarded(app, work), group=group, exclusive=exclusive, exit_on_error=False
    )


async def _guarded(app: Host, work: Awaitable[object]) -> None:
    try:
        await work
    except Exception as error:  # noqa: BLE001 - a bug in one command must not close the screen
        await app.failed(error)
    finally:
        app.call_later(app.work_ended)


async def attempt(app: Host, request: Callable[[], T]) -> T | None:
    """Send a request to the engine in a thread, because it may wait for the disk.

    Returns:
        The result, or None if the request failed and the error was shown.
    """
    try:
        return await asyncio.to_thread(request)
    except RalphError as error:
        app.report_problem(commands_as_key_text(app.keys, str(error)))
    except Exception as error:  # noqa: BLE001 - a bug in one request must not close the screen
        await app.failed(error)
    return None

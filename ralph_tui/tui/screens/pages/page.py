"""The base of all pages: the head that names all pages, the search, the footer, Escape to the dashboard.

Page
├── PageHead      which page is open, and the loop's state
├── body          the subclass's widgets
├── SearchLine    during a search
└── PageFooter    keys from the registry
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import PurePath
from time import monotonic
from typing import ClassVar, Self, TypeVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.worker import Worker, get_current_worker

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.store.journal.event_scanner import Progress
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.commands.registry import COMMANDS, PAGE_COMMANDS
from ralph_tui.tui.host.saving import share
from ralph_tui.tui.host.widget_host import Host, do
from ralph_tui.tui.terminal.private import bind, forget_closed
from ralph_tui.tui.theme.themes import STYLES
from ralph_tui.tui.widgets.footer import Link, PageFooter, command_link
from ralph_tui.tui.widgets.header import PageHead
from ralph_tui.tui.widgets.links import LinkLine
from ralph_tui.tui.widgets.search import Searchable, Searching
from ralph_tui.tui.widgets.stream import Transcript
from ralph_tui.tui.widgets.tabs import PANES, ViewTabs
from ralph_tui.tui.widgets.text_view import TextView

T = TypeVar("T")

Handler = Callable[[], Awaitable[None] | None]

PROGRESS_SECONDS = 0.1
"""Minimum seconds between two progress reports of a reading."""


def page_bindings(name: str, keys_of: Callable[[Command], tuple[str, ...]]) -> list[BindingType]:
    """Return the bindings of the page's commands, then those of the app with keys that are still free."""
    own = PAGE_COMMANDS[name]
    taken = {key for command in own for key in keys_of(command)}
    others = (c for c in COMMANDS if c.on_pages or c.name in PANES)
    return [
        *(_binding(command, keys_of(command)) for command in own if keys_of(command)),
        *(
            _binding(c, keys)
            for c in others
            if (keys := tuple(k for k in keys_of(c) if k not in taken))
        ),
    ]


def _binding(command: Command, keys: Iterable[str]) -> Binding:
    return Binding(
        ",".join(keys), f"invoke('{command.name}')", command.title, show=False, tooltip=command.help
    )


class Page(ModalScreen[None], Searching):
    """A screen over the dashboard; the loop continues.

    It is modal, so that keys do not act on parts of the dashboard that are not visible.
    """

    NAME = ""
    page_commands: tuple[Command, ...] = ()
    """The page's commands, for its keys, the palette and the help."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Back", show=False),
        Binding("tab", "app.focus_next", show=False),
        Binding("shift+tab", "app.focus_previous", show=False),
    ]
    CSS_PATH: ClassVar[list[str | PurePath]] = [STYLES / "pages.tcss"]
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it as an instance variable
        (0, "-narrow"),
        (100, "-wide"),
        (140, "-widest"),
    ]

    app = getters.app(Host)
    head = getters.query_one(PageHead)
    bar = getters.query_one(PageFooter)

    def __init_subclass__(cls, **kwargs: bool) -> None:
        super().__init_subclass__(**kwargs)
        cls.page_commands = PAGE_COMMANDS.get(cls.NAME, ())

    def body(self) -> Iterable[Widget]:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Yield head, body and footer, with the CSS class of the width set before the first layout."""
        width = self.app.size.width
        fits = [name for least, name in self.HORIZONTAL_BREAKPOINTS or () if width >= least]
        self.add_class(*fits[-1:], update=False)
        yield PageHead()
        yield from self.body()
        yield PageFooter()

    def on_mount(self) -> None:
        bind(self, page_bindings(self.NAME, self.app.keys_of))
        self.head.active = self.NAME
        self.refresh_keys()
        self.watch(self.app, "view", self._show_view, init=True)
        forget_closed(self.app)
        self.opened()

    def _show_view(self, view: LoopView) -> None:
        if self.is_attached and self.query(PageHead):
            self.head.view = view
            self.view_changed(view)

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        """Redraw the page, but not for changes in the dashboard beneath, which is not visible.

        Textual passes regions for those; the page's own widgets refresh themselves.
        """
        if regions:
            return self
        return super().refresh(repaint=repaint, layout=layout, recompose=recompose)

    # What a subclass may override.

    def opened(self) -> None:
        """Start to read; called once the page is mounted."""

    def view_changed(self, view: LoopView) -> None:
        """Handle a changed view."""

    def not_now(self, name: str) -> str:
        if name in ("next_match", "previous_match") and not (self.searched and self.searched.found):
            return self.app.keys.said(f"No matches. Press {{{self.NAME}.search}} to search.")
        return ""

    def label(self, command: Command) -> str:
        return command.footer

    # Commands.

    def action_invoke(self, name: str) -> None:
        """Run a command of the app, or the page's own method `do_NAME`."""
        if not any(command.name == name for command in self.page_commands):
            if name in PANES or name == "close":  # a pane is shown without the page above it
                self.dismiss(None)
            if name != "close":
                self.app.action_invoke(name)
            return
        if reason := self.not_now(name):
            self.app.show_message(reason)
            return
        handler: Handler = getattr(self, f"do_{name}")
        done = handler()
        if inspect.isawaitable(done):
            do(self, done, f"command-{name}")
        self.refresh_keys()

    def action_close(self) -> None:
        """Close the search if it is open, or else the page or a layer of it."""
        if not self.leave_search() and not self.back():
            self.dismiss(None)

    def back(self) -> bool:
        return False

    def refresh_keys(self) -> None:
        if self.is_attached and self.query(PageFooter):
            self.bar.items = tuple(self._items())

    def _items(self) -> Iterable[Link]:
        for command in sorted(self.page_commands, key=lambda command: command.rank):
            if command.footer and not self.not_now(command.name):
                yield command_link(command, self.app.keys, self.label(command))

    def on_link_line_followed(self, message: LinkLine.Followed) -> None:
        self.action_invoke(message.name)

    def chosen_text(self) -> str:
        return self.query_one(TextView).chosen_text()

    def shown_text(self) -> str:
        return self.query_one(TextView).text()

    def do_look(self) -> None:
        self.query_one(ViewTabs).next()

    def do_copy(self) -> None:
        app = self.app
        app.copy_to_clipboard(app.mouse_selection() or self.chosen_text() or self.shown_text())

    async def do_share(self) -> None:
        await share(self.app, self.NAME, self.shown_text())

    # Searching, in the focused pane or else the main one.

    async def do_search(self) -> None:
        await self.open_search(self.search_target())

    def search_target(self) -> Searchable:
        return self.query_one(TextView)

    def search_again(self) -> None:
        """Search again, because the contents have changed."""
        words = self.search_line.words if self.search_line is not None else ""
        if not self.is_attached or not words:
            return
        if self.searched is not None and self.searched.display:
            self.searched.repeat_search()
        else:
            self.search_in(self.search_target())
            self.search_for(words)

    def on_searched_found(self, message: Searchable.Found) -> None:
        del message  # Textual calls the base's handler, too
        self.refresh_keys()

    def do_next_match(self) -> None:
        if self.searched is not None:
            self.searched.action_match(1)

    def do_previous_match(self) -> None:
        if self.searched is not None:
            self.searched.action_match(-1)

    # Reading.

    def read(
        self,
        work: Callable[[Progress], T],
        done: Callable[[T], None],
        *,
        group: str,
        failed: Callable[[str], None] | None = None,
    ) -> Worker[None]:
        """Run slow `work` in a thread and pass the result to `done` on the event loop.

        A reading replaces an earlier one of the same group; closing the page ends it.

        Args:
            failed: Called with an error message instead of `done`; by default it is shown as a toast.
        """
        failed = failed or partial(self.app.show_message, error=True)

        def reading() -> None:
            worker, reported_at = get_current_worker(), 0.0

            def progress(at: int, size: int) -> None:
                nonlocal reported_at
                if worker.is_cancelled:
                    raise _PageClosed
                if monotonic() - reported_at > PROGRESS_SECONDS:
                    reported_at = monotonic()
                    self.call_later(self.show_progress, group, at, size)

            try:
                result = work(progress)
            except _PageClosed:
                return
            except RalphError as error:
                self.call_later(failed, str(error))
            except Exception as error:  # noqa: BLE001 - a bug in one reading must not close the screen
                text = f"Unexpected error: {type(error).__name__}: {one_line(str(error))}"
                self.call_later(failed, text)
                self.app.call_later(self.app.failed, error)
            else:
                if not worker.is_cancelled:
                    self.call_later(done, result)

        return self.run_worker(
            reading, thread=True, group=group, exclusive=True, exit_on_error=False
        )

    def show_progress(self, group: str, at: int, size: int) -> None:
        """Show the progress of a reading."""


class ListDetailPage(Page):
    """A page with a list and the contents of the selected item; a subclass defines both."""

    def list_view(self) -> TextView:
        raise NotImplementedError

    def contents(self) -> Transcript | TextView:
        raise NotImplementedError

    def do_open(self) -> None:
        raise NotImplementedError

    @property
    def is_reading(self) -> bool:
        return self.has_class("-reading")

    def back(self) -> bool:
        """Return from the contents to the list on a narrow screen; return whether that closed them."""
        was_over_it = self.is_reading and self.has_class("-narrow")
        self.remove_class("-reading")
        if was_over_it:
            self.list_view().focus()
        return was_over_it

    def open_contents(self) -> None:
        self.add_class("-reading")
        self.contents().focus()

    def show_contents(self) -> None:
        if self.has_class("-narrow") and not self.is_reading:
            self.open_contents()

    def search_target(self) -> Transcript | TextView:
        return self.list_view() if self.list_view().has_focus else self.contents()

    def on_row_list_opened(self) -> None:
        self.do_open()


class _PageClosed(Exception):  # noqa: N818 - not an error
    """Raised in a reading whose page was closed."""

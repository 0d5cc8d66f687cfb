"""The base of all pages: the head with all pages, the search, the keys in the footer, Escape to the dashboard.

Page
├── PageHead      which page this is; the loop's state, live
├── body          a subclass's own
├── SearchLine    while somebody searches
└── PageFooter    keys from the registry
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable
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
from ralph_tui.tui.commands.registry import COMMANDS, PAGE_COMMANDS, name_of
from ralph_tui.tui.host.saving import save
from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.host.workers import do
from ralph_tui.tui.screens.dialogs.menu import ShareMenu
from ralph_tui.tui.terminal.private import bind, forget_closed
from ralph_tui.tui.theme.stylesheets import STYLES
from ralph_tui.tui.widgets.footer import FooterItem, PageFooter
from ralph_tui.tui.widgets.header import PageHead
from ralph_tui.tui.widgets.links import LinkLine
from ralph_tui.tui.widgets.search import Searchable, SearchLine
from ralph_tui.tui.widgets.stream import Transcript
from ralph_tui.tui.widgets.text_view import TextView

T = TypeVar("T")

Handler = Callable[[], Awaitable[None] | None]

TELL_SECONDS = 0.1
"""Seconds between two reports of a reading's progress, at least."""

PANES = ("tasks", "activity", "status")
"""Commands that close the page first."""


def page_bindings(name: str, keys_of: Callable[[Command], tuple[str, ...]]) -> list[BindingType]:
    """Return the page's own keys, then those of the app that are still free."""
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


class Page(ModalScreen[None]):
    """A screen over the dashboard; the loop continues below it.

    Modal, so that keys of the dashboard that act on what is not in sight do nothing here.
    """

    NAME = ""
    page_commands: tuple[Command, ...] = ()
    """The page's own commands, for its keys, the palette and the help."""

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
    search_line = getters.query_one(SearchLine)

    _pane: Searchable | None = None
    """The pane that is searched."""

    def __init_subclass__(cls, **kwargs: bool) -> None:
        """Find the page's commands by its name."""
        super().__init_subclass__(**kwargs)
        cls.page_commands = PAGE_COMMANDS.get(cls.NAME, ())

    def body(self) -> Iterable[Widget]:
        """Yield the page's contents."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Yield head, body and keys; the width's classes hold from the first layout on."""
        width = self.app.size.width
        fits = [name for least, name in self.HORIZONTAL_BREAKPOINTS or () if width >= least]
        self.add_class(*fits[-1:], update=False)
        yield PageHead()
        yield from self.body()
        yield SearchLine()
        yield PageFooter()

    def on_mount(self) -> None:
        """Bind the person's keys, and follow the view."""
        bind(self, page_bindings(self.NAME, self.app.keys_of))
        self.head.active = self.NAME
        self.refresh_keys()
        self.watch(self.app, "view", self._show_view, init=True)
        forget_closed(self.app)
        self.opened()

    def _show_view(self, view: LoopView) -> None:
        if self.is_attached and self.query(PageHead):
            self.head.view = view
            self.changed(view)

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        """Draw the page again, but not for what moves in the dashboard beneath, which is not visible.

        Textual asks for that with the regions; a page's own widgets ask for themselves.
        """
        if regions:
            return self
        return super().refresh(repaint=repaint, layout=layout, recompose=recompose)

    # What a page may do.

    def opened(self) -> None:
        """Begin to read, once the page is on the screen."""

    def changed(self, view: LoopView) -> None:
        """Take in a changed view."""

    def not_now(self, name: str) -> str:
        """Return why a command of this page cannot be used now; empty when it can."""
        if name in ("next_match", "previous_match") and not (self._pane and self._pane.found):
            return self.app.keys.said(f"Nothing is found; {{{self.NAME}.search}} searches.")
        return ""

    def label(self, command: Command) -> str:
        """Return the footer's word for a command."""
        return command.footer

    # Commands.

    def handlers(self) -> dict[str, Handler]:
        """Return what does each command of the page; a page adds its own to these."""
        return {
            "search": self.do_search,
            "next_match": self.do_next_match,
            "previous_match": self.do_previous_match,
            "copy": self.do_copy,
            "share": self.do_share,
            "copy_all": self.do_copy_all,
            "export": self.do_export,
        }

    def action_invoke(self, name: str) -> None:
        """Run a command of the page, or pass it on to the app."""
        if not any(command.name == name for command in self.page_commands):
            if name in PANES or name == "close":
                self.dismiss(None)
            if name != "close":
                self.app.action_invoke(name)
            return
        if reason := self.not_now(name):
            self.app.say(reason)
            return
        done = self.handlers()[name]()
        if inspect.isawaitable(done):
            do(self, done, f"command-{name}")
        self.refresh_keys()

    def action_close(self) -> None:
        """Close the top layer: the search first, then the page."""
        if self.search_line.display:
            self.search_line.leave()
        elif not self.back():
            self.dismiss(None)

    def back(self) -> bool:
        """Close a layer of the page's own; return whether there was one."""
        return False

    def refresh_keys(self) -> None:
        """Show which commands can be used now."""
        if self.is_attached and self.query(PageFooter):
            self.bar.items = tuple(self._items())

    def _items(self) -> Iterable[FooterItem]:
        """Yield the footer's items by rank."""
        for command in sorted(self.page_commands, key=lambda command: command.rank):
            if command.footer and (label := self.label(command)):
                key = self.app.keys.label(name_of(command))
                yield FooterItem(command.name, key, label, not self.not_now(command.name))

    def on_link_line_followed(self, message: LinkLine.Followed) -> None:
        """Run the command that was clicked in the head or the footer."""
        self.action_invoke(message.name)

    def chosen_text(self) -> str:
        """Return what is under the cursor, for the clipboard; empty where there is nothing."""
        return ""

    def shown_text(self) -> str:
        """Return everything that is shown, for the clipboard and the export."""
        return ""

    def do_copy(self) -> None:
        """Copy the mouse selection, else what is under the cursor, else everything."""
        app = self.app
        app.copy_to_clipboard(app.marked() or self.chosen_text() or self.shown_text())

    async def do_share(self) -> None:
        """Offer to copy or export everything."""
        chosen = await self.app.push_screen_wait(ShareMenu(f"Shown: the page {self.NAME}."))
        if chosen:
            self.action_invoke(chosen)

    def do_copy_all(self) -> None:
        """Copy everything that is shown."""
        self.app.copy_to_clipboard(self.shown_text())

    async def do_export(self) -> None:
        """Export what is shown."""
        await save(self.app, self.NAME, self.shown_text())

    # Searching: `/`, then n and N, in the pane that has the keys, else the main one.

    def do_search(self) -> None:
        """Open the search line for the pane that has the focus."""
        self.look_in(self.searched_in())
        self.search_line.enter()

    def on_search_line_staged(self, message: SearchLine.Staged) -> None:
        """Show the search's keys in the footer."""
        self.bar.stage = message.stage

    def on_search_line_changed(self, message: SearchLine.Changed) -> None:
        """Search while the person types."""
        self.searched(message.words)
        self.refresh_keys()

    def searched_in(self) -> Searchable:
        """Return the pane that a search begins in."""
        raise NotImplementedError

    def look_in(self, pane: Searchable) -> None:
        """Search in this pane from now on."""
        before, self._pane = self._pane, pane
        if before is not None and before is not pane:
            before.search("")

    def searched(self, words: str) -> None:
        """Search for words, and go to the next match."""
        if self._pane is not None:
            self._pane.search(words)
            if not self.search_line.display:
                self._pane.focus()

    def search_again(self) -> None:
        """Search again, because what is shown has changed."""
        if not self.is_attached or not self.search_line.words:
            return
        if self._pane is not None and self._pane.display:
            self._pane.look_again()
        else:
            self.look_in(self.searched_in())
            self.searched(self.search_line.words)

    def on_searched_found(self, message: Searchable.Found) -> None:
        """Show which match of how many; close the line when the pane gave up the search."""
        if message.pane is not self._pane or not self.is_attached:
            return
        self.search_line.say(message.text)
        if self.search_line.display and not message.pane.words and message.pane.has_focus:
            self.search_line.leave()
        self.refresh_keys()

    def do_next_match(self) -> None:
        """Go to the next match."""
        if self._pane is not None:
            self._pane.action_match(1)

    def do_previous_match(self) -> None:
        """Go to the previous match."""
        if self._pane is not None:
            self._pane.action_match(-1)

    def on_search_line_kept(self) -> None:
        """Focus what was found."""
        if self._pane is not None:
            self._pane.focus()

    # Reading.

    def read(
        self,
        work: Callable[[Progress], T],
        done: Callable[[T], None],
        *,
        group: str,
        failed: Callable[[str], None],
    ) -> Worker[None]:
        """Do slow `work` in a thread and hand the result to `done` on the screen.

        A later reading of the same group takes the place of an earlier one; leaving the page ends it.

        Args:
            work: Reads; is given what it reports its progress to, and runs in a thread.
            done: Called with the result.
            group: Names the reading.
            failed: Called with a sentence instead.
        """

        def reading() -> None:
            worker, told = get_current_worker(), 0.0

            def progress(at: int, size: int) -> None:
                nonlocal told
                if worker.is_cancelled:
                    raise _Left
                if monotonic() - told > TELL_SECONDS:
                    told = monotonic()
                    self.call_later(self.progressed, group, at, size)

            try:
                result = work(progress)
            except _Left:
                return
            except RalphError as error:
                self.call_later(failed, str(error))
            except Exception as error:  # noqa: BLE001 - a bug in one reading must not close the screen
                text = f"That failed: {type(error).__name__}: {one_line(str(error))}"
                self.call_later(failed, text)
                self.app.call_later(self.app.failed, error)
            else:
                if not worker.is_cancelled:
                    self.call_later(done, result)

        return self.run_worker(
            reading, thread=True, group=group, exclusive=True, exit_on_error=False
        )

    def progressed(self, group: str, at: int, size: int) -> None:
        """Take in how far a reading is."""


class ListDetailPage(Page):
    """Subclasses say which is the list and what shows its contents."""

    def listed(self) -> TextView:
        """Return the list."""
        raise NotImplementedError

    def contents(self) -> Transcript | TextView:
        """Return what shows the chosen item."""
        raise NotImplementedError

    def handlers(self) -> dict[str, Handler]:
        """Add what opens the contents."""
        return {**super().handlers(), "open": self.do_open}

    def do_open(self) -> None:
        """Go into the contents."""
        raise NotImplementedError

    @property
    def is_reading(self) -> bool:
        """Whether the contents cover the list, on a narrow screen."""
        return self.has_class("-reading")

    def back(self) -> bool:
        """Go back from the contents to the list, on a narrow screen."""
        was_over_it = self.is_reading and self.has_class("-narrow")
        self.remove_class("-reading")
        if was_over_it:
            self.listed().focus()
        return was_over_it

    def go_in(self) -> None:
        """Go from the list into the contents."""
        self.add_class("-reading")
        self.contents().focus()

    def put_in_sight(self) -> None:
        """Show the contents, on a narrow screen, before a key changes them."""
        if self.has_class("-narrow") and not self.is_reading:
            self.go_in()

    def searched_in(self) -> Transcript | TextView:
        """Return the list while it has the focus, else the contents."""
        return self.listed() if self.listed().has_focus else self.contents()

    def on_row_list_opened(self) -> None:
        """Treat a double click as Enter."""
        self.do_open()


class _Left(Exception):  # noqa: N818 - it is no error
    """The page was closed while reading."""

"""Ralph's commands in Textual's palette."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider, SearchIcon

from ralph_tui.present.text.key_hints import Keys, key_label
from ralph_tui.present.text.spans import flat
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.commands.registry import COMMANDS
from ralph_tui.tui.widgets.footer import Foot

if TYPE_CHECKING:
    from ralph_tui.tui.host.widget_host import Host
    from ralph_tui.tui.screens.pages.page import Page


class CommandsProvider(Provider):
    """Every command with its key, and why it cannot be used now."""

    @property
    def _host(self) -> "Host":
        from ralph_tui.tui.host.widget_host import Host

        app = self.app
        assert isinstance(app, Host)
        return app

    def _entries(self) -> list[tuple[str, str, Callable[[], None]]]:
        """What can be done now comes first."""
        now, keys = self._host.situation(), self._host.keys
        entries: list[tuple[str, str, Callable[[], None]]] = []
        if page := page_of(self.screen):
            for command in page.page_commands:
                run = partial(page.action_invoke, command.name)
                shown = replace(command, keys=self._host.keys_of(command))
                entries.append(_entry(shown, page.not_now(command.name), keys, run))
        for command in COMMANDS:
            if command.name != "palette":
                run = partial(self._host.action_invoke, command.name)
                shown = replace(command, keys=self._host.keys_of(command))
                entries.append(_entry(shown, command.disabled(now), keys, run))
        return sorted(entries, key=lambda entry: entry[1].startswith(_NOT_NOW))

    async def discover(self) -> Hits:
        """Every command, before anything was typed."""
        for name, text, run in self._entries():
            yield DiscoveryHit(_escaped(name), run, text=name, help=_harmless(text))

    async def search(self, query: str) -> Hits:
        """Commands whose name matches."""
        matcher = self.matcher(query)
        for name, text, run in self._entries():
            if (score := matcher.match(name)) > 0:
                yield Hit(score, matcher.highlight(name), run, text=name, help=_harmless(text))


_NOT_NOW = "Not now: "

Entry = tuple[str, str, Callable[[], None]]


def _entry(command: Command, reason: str, keys: Keys, run: Callable[[], None]) -> Entry:
    text = f"{_NOT_NOW}{reason}" if reason else keys.said(command.help)
    return f"{command.area}: {command.title}  [{key_label(command.keys[0])}]", text, run


def page_of(screen: object) -> "Page | None":
    """The page a screen is; none before the first was opened, whose file is imported then."""
    import sys

    if "ralph_tui.tui.screens.pages.page" not in sys.modules:
        return None
    from ralph_tui.tui.screens.pages.page import Page

    return screen if isinstance(screen, Page) else None


def _escaped(name: str) -> str:
    """A name of ours, with its key in brackets, where the palette parses markup."""
    return name.replace("[", r"\[")


_BRACKETS = str.maketrans("[]\\", "()/")


def _harmless(text: str) -> str:
    """A reason may name a task, and the palette parses markup: no bracket gets through."""
    return flat(text).translate(_BRACKETS)


class Palette(CommandPalette):
    """Finds commands by name, or what the providers it is given know."""

    def __init__(
        self,
        providers: Iterable[type[Provider]] | None = None,
        placeholder: str = "Search for commands",
    ) -> None:
        """With the app's providers, unless others are given."""
        super().__init__(
            providers=None if providers is None else list(providers), placeholder=placeholder
        )

    def compose(self) -> ComposeResult:
        """The keys below."""
        yield from super().compose()
        yield Foot()

    def on_mount(self) -> None:
        """The keys are always the same; Textual's sign is a picture that many fonts and plain ASCII lack."""
        self.query_one(SearchIcon).icon = "/"
        self.query_one(Foot).keys = "up down move, enter choose, esc close"

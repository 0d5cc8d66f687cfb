"""The command palette: ralph's commands and the themes, in Textual's own."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from textual.app import ComposeResult
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider, SearchIcon
from textual.theme import ThemeProvider

from ralph_tui.present.text.key_hints import Keys, key_label
from ralph_tui.present.text.spans import flat
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.commands.registry import COMMANDS
from ralph_tui.tui.host.widget_host import CommandScreen, Host
from ralph_tui.tui.host.workers import attempt, do
from ralph_tui.tui.widgets.footer import DialogFooter


class CommandsProvider(Provider):
    """Every command with its key, and why it cannot be used now."""

    @property
    def _host(self) -> Host:
        app = self.app
        assert isinstance(app, Host)
        return app

    def _entries(self) -> list[tuple[str, str, Callable[[], None]]]:
        """Return the commands, those that can be used now first."""
        now, keys = self._host.situation(), self._host.keys
        entries: list[tuple[str, str, Callable[[], None]]] = []
        page = self.screen
        if isinstance(page, CommandScreen):
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
        """Yield every command, before anything was typed."""
        for name, text, run in self._entries():
            yield DiscoveryHit(_escaped(name), run, text=name, help=_harmless(text))

    async def search(self, query: str) -> Hits:
        """Yield the commands whose name matches."""
        matcher = self.matcher(query)
        for name, text, run in self._entries():
            if (score := matcher.match(name)) > 0:
                yield Hit(score, matcher.highlight(name), run, text=name, help=_harmless(text))


_NOT_NOW = "Not now: "

Entry = tuple[str, str, Callable[[], None]]


def _entry(command: Command, reason: str, keys: Keys, run: Callable[[], None]) -> Entry:
    text = f"{_NOT_NOW}{reason}" if reason else keys.said(command.help)
    key = f"  [{key_label(command.keys[0])}]" if command.keys else ""
    return f"{command.area}: {command.title}{key}", text, run


def _escaped(name: str) -> str:
    """Escape the brackets round a key, because the palette parses markup."""
    return name.replace("[", r"\[")


_BRACKETS = str.maketrans("[]\\", "()/")


def _harmless(text: str) -> str:
    """Replace brackets: a reason may name a task, and the palette parses markup."""
    return flat(text).translate(_BRACKETS)


class Palette(CommandPalette):
    """Finds commands by name, or what the providers it is given know."""

    def __init__(
        self,
        providers: Iterable[type[Provider]] | None = None,
        placeholder: str = "Search for commands",
    ) -> None:
        """Search the app's providers, unless others are given."""
        super().__init__(
            providers=None if providers is None else list(providers), placeholder=placeholder
        )

    def compose(self) -> ComposeResult:
        """Yield Textual's palette, then the keys."""
        yield from super().compose()
        yield DialogFooter()

    def on_mount(self) -> None:
        """Show the keys, and a plain sign: Textual's is a picture that many fonts lack."""
        self.query_one(SearchIcon).icon = "/"
        self.query_one(DialogFooter).keys = "up down move, enter choose, esc close"


def open_palette(app: Host) -> None:
    """Open the palette, unless it is open."""
    if not isinstance(app.screen, Palette):
        app.push_screen(Palette())


class ThemeChoices(ThemeProvider):
    """Textual's list of themes; the one that is chosen is kept in the settings."""

    @property
    def commands(self) -> list[tuple[str, Callable[[], None]]]:
        """The names of the themes, each with what chooses it."""
        return [(name, partial(self._choose, name)) for name in sorted(self.app.available_themes)]

    def _choose(self, name: str) -> None:
        app = self.app
        assert isinstance(app, Host)
        app.theme = app.kept_theme = name
        do(app, _keep_theme(app, name), "theme")


async def _keep_theme(app: Host, name: str) -> None:
    """Write the theme into the project's settings, for the next time."""
    from ralph_tui.engine.control.change_settings import change_setting

    root = app.launch.root
    kept = await attempt(app, lambda: change_setting(root, "screen.theme", name))
    if kept is not None:
        stronger = f" {kept.stronger} is stronger." if kept.stronger else ""
        app.say(f"The theme {name} is kept for this project.{stronger}")


def open_theme_palette(app: Host) -> None:
    """Open the palette on the themes."""
    app.push_screen(Palette(providers=[ThemeChoices], placeholder="Search for themes"))

"""The command palette: ralph's commands and the themes, in Textual's palette."""

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
from ralph_tui.tui.host.widget_host import CommandScreen, Host, attempt, do
from ralph_tui.tui.widgets.footer import DialogFooter

_NOT_NOW = "Unavailable: "

Entry = tuple[str, str, Callable[[], None]]
"""A command's name, its help or why it cannot be used now, and the callback that runs it."""


class CommandsProvider(Provider):
    """Provides every command with its key, and why it cannot be used now."""

    @property
    def _host(self) -> Host:
        app = self.app
        assert isinstance(app, Host)
        return app

    def _entries(self) -> list[Entry]:
        now, keys = self._host.command_context(), self._host.keys
        entries: list[Entry] = []
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
        for name, text, run in self._entries():
            yield DiscoveryHit(
                name.replace("[", r"\["), run, text=name, help=_without_brackets(text)
            )

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, text, run in self._entries():
            if (score := matcher.match(name)) > 0:
                yield Hit(
                    score, matcher.highlight(name), run, text=name, help=_without_brackets(text)
                )


def _entry(command: Command, reason: str, keys: Keys, run: Callable[[], None]) -> Entry:
    text = f"{_NOT_NOW}{reason}" if reason else keys.said(command.help)
    key = f"  [{key_label(command.keys[0])}]" if command.keys else ""
    return f"{command.area}: {command.title}{key}", text, run


_BRACKETS = str.maketrans("[]\\", "()/")


def _without_brackets(text: str) -> str:
    """Replace brackets, because a reason may contain a task's text and the palette parses markup."""
    return flat(text).translate(_BRACKETS)


class Palette(CommandPalette):
    """Finds commands, or other entries of given providers, by name."""

    def __init__(
        self,
        providers: Iterable[type[Provider]] | None = None,
        placeholder: str = "Search for commands",
    ) -> None:
        super().__init__(
            providers=None if providers is None else list(providers), placeholder=placeholder
        )

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield DialogFooter()

    def on_mount(self) -> None:
        """Show the keys, and a slash instead of Textual's emoji, which many fonts lack."""
        self.query_one(SearchIcon).icon = "/"
        self.query_one(DialogFooter).keys = "up down move, enter choose, esc close"


def open_palette(app: Host) -> None:
    if not isinstance(app.screen, Palette):
        app.push_screen(Palette())


class ThemeChoices(ThemeProvider):
    """Textual's list of themes; the chosen one is saved in the settings."""

    @property
    def commands(self) -> list[tuple[str, Callable[[], None]]]:
        return [(name, partial(self._choose, name)) for name in sorted(self.app.available_themes)]

    def _choose(self, name: str) -> None:
        app = self.app
        assert isinstance(app, Host)
        app.theme = app.chosen_theme = name
        do(app, _save_theme(app, name), "theme")


async def _save_theme(app: Host, name: str) -> None:
    from ralph_tui.engine.control.run_settings import change_setting

    root = app.launch.root
    kept = await attempt(app, lambda: change_setting(root, "screen.theme", name))
    if kept is not None:
        stronger = f" {kept.stronger} overrides it." if kept.stronger else ""
        app.show_message(f"Saved the theme {name} for this project.{stronger}")


def open_theme_palette(app: Host) -> None:
    app.push_screen(Palette(providers=[ThemeChoices], placeholder="Search for themes"))

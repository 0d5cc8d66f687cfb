"""The footer: keys of the commands that matter now, generated from their declaration."""

from textual.content import Content
from textual.reactive import reactive
from textual.style import Style

from ralph_tui.tui.commands import COMMANDS, Command, key_label
from ralph_tui.tui.render.spans import Tone
from ralph_tui.tui.situation import Situation
from ralph_tui.tui.widgets.toned import Toned


class KeyBar(Toned):
    """Whole labels only; the least important go first when the line is short."""

    situation: reactive[Situation | None] = reactive(None)

    def on_resize(self) -> None:
        """How many fit depends on the width."""
        self.refresh()

    def render(self) -> Content:
        """One line of clickable labels."""
        now = self.situation
        if now is None:
            return Content("")
        palette = Content.assemble(
            ("^p", self._style(Tone.ACCENT, "palette")),
            (" all", self._style(Tone.MUTED, "palette")),
        )
        room = self.content_size.width - palette.cell_length
        shown: list[Content] = []
        for command in sorted((c for c in COMMANDS if c.footer), key=lambda c: c.rank):
            item = self._item(command, now)
            if item.cell_length + 2 > room:
                break
            room -= item.cell_length + 2
            shown.append(item)
        return Content("  ").join([*shown, palette])

    def _item(self, command: Command, now: Situation) -> Content:
        usable = not command.disabled(now)
        key = self._style(Tone.ACCENT if usable else Tone.FAINT, command.name)
        label = self._style(Tone.TEXT if usable else Tone.FAINT, command.name)
        name = key_label(command.keys[0])
        return Content.assemble((name, key), (f" {command.footer_label(now)}", label))

    def _style(self, tone: Tone, name: str) -> Style:
        return self._visual(tone) + Style.from_meta({"@click": f"app.invoke('{name}')"})

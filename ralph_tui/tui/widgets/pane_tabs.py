"""The names of the panes, for terminals that show one at a time."""

from textual.content import Content
from textual.reactive import reactive
from textual.style import Style

from ralph_tui.tui.render.spans import Tone
from ralph_tui.tui.widgets.toned import Toned

PANES = ("tasks", "activity", "status")
"""In reading order; the numbers of their keys are their places."""


class PaneTabs(Toned):
    """One line: the pane in sight is marked, the others can be clicked."""

    active: reactive[str] = reactive("activity")

    def render(self) -> Content:
        """Number and name of each pane."""
        glyphs = self.app.glyphs
        items = []
        for number, name in enumerate(PANES, 1):
            chosen = name == self.active
            link = Style.from_meta({"@click": f"app.invoke('{name}')"})
            tone = Tone.TITLE if chosen else Tone.MUTED
            mark = glyphs.current if chosen else " "
            items.append(
                Content.assemble(
                    (f"{mark} ", self._visual(Tone.ACCENT)),
                    (f"{number} {name}", self._visual(tone) + link),
                )
            )
        return Content("   ").join(items)

"""A reader of titled blocks."""

from collections.abc import Iterable

from ralph_tui.tui.render.parts import Part, parts_text
from ralph_tui.tui.screens.reader import Reader, Shown
from ralph_tui.tui.widgets.parts_text import PartsText


class PartsReader(Reader):
    """Subclasses say the title and the blocks."""

    def blocks(self) -> list[Part]:
        """What there is to read."""
        raise NotImplementedError

    def parts(self) -> Iterable[Shown]:
        """One text of all blocks."""
        yield Shown(PartsText(self.blocks()))

    def show_again(self) -> None:
        """The blocks may have changed; what is in sight stays where it is."""
        if not self.is_attached:
            return
        if shown := self.query(PartsText):
            shown.first().show_parts(self.blocks())
        else:  # made already, with what was known then, and not yet in its frame
            self.call_after_refresh(self.show_again)

    def copied(self) -> str:
        """Every block."""
        return parts_text(self.blocks())

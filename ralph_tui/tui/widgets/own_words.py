"""A field for one's own words in a dialog: it is there only while somebody writes in it."""

from textual import getters
from textual.widgets import Input

from ralph_tui.tui.host import Host


class OwnWords(Input):
    """Goes on where it was left; the style sheet hides it at first."""

    app = getters.app(Host)

    def __init__(self, placeholder: str) -> None:
        """Say what it is for while it is empty."""
        super().__init__(placeholder=placeholder, select_on_focus=False, id="words")
        self.cursor_blink = self.app.animation_level == "full"

    @property
    def writing(self) -> bool:
        """Whether somebody writes."""
        return self.display

    def begin(self, text: str) -> None:
        """Go on with a text, at its end."""
        self.value = text
        self.display = True
        self.focus()
        self.cursor_position = len(text)

    def end(self) -> None:
        """It is written, or given up; where the keys go then is the dialog's to say."""
        self.display = False

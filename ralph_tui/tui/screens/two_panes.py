"""A page of a list and of what is chosen in it: beside each other, or where there is no room one over the other."""

from ralph_tui.tui.screens.searching import Searching
from ralph_tui.tui.widgets.text_view import TextView
from ralph_tui.tui.widgets.transcript import Transcript


class TwoPanes(Searching):
    """Subclasses say which is the list and what shows its contents."""

    def listed(self) -> TextView:
        """The list."""
        raise NotImplementedError

    def contents(self) -> Transcript | TextView:
        """What shows the chosen one now."""
        raise NotImplementedError

    def do_open(self) -> None:
        """Into the contents."""
        raise NotImplementedError

    @property
    def is_reading(self) -> bool:
        """On a narrow screen the contents have taken the place of the list."""
        return self.has_class("-reading")

    def back(self) -> bool:
        """On a narrow screen, from the contents to the list."""
        was_over_it = self.is_reading and self.has_class("-narrow")
        self.remove_class("-reading")
        if was_over_it:
            self.listed().focus()
        return was_over_it

    def go_in(self) -> None:
        """From the list into the contents."""
        self.add_class("-reading")
        self.contents().focus()

    def put_in_sight(self) -> None:
        """On a narrow screen what a key changes would be behind the list."""
        if self.has_class("-narrow") and not self.is_reading:
            self.go_in()

    def searched_in(self) -> Transcript | TextView:
        """The list while it has the keys, else the contents."""
        return self.listed() if self.listed().has_focus else self.contents()

    def on_rows_view_opened(self) -> None:
        """A double click is Enter."""
        self.do_open()

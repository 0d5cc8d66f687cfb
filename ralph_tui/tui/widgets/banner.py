"""The frame above the panes: how to start, or what happened, why, and what next."""

from textual.content import Content
from textual.reactive import reactive

from ralph_tui.tui.render.banner import Banner
from ralph_tui.tui.render.spans import Tone, flat
from ralph_tui.tui.widgets.toned import Toned


class BannerFrame(Toned):
    """Hidden while the loop runs."""

    banner: reactive[Banner | None] = reactive(None, layout=True)

    def watch_banner(self, banner: Banner | None) -> None:
        """Show or hide, in the colour of the outcome."""
        self.display = banner is not None
        if banner is None:
            return
        look = banner.look
        self.border_title = Content(flat(f"{getattr(self.app.glyphs, look.glyph)} {look.word}"))
        for tone in (Tone.OK, Tone.INFO, Tone.WARN, Tone.BAD):
            self.set_class(look.tone is tone, f"-{tone}")

    def on_resize(self) -> None:
        """Long reasons wrap."""
        self.refresh(layout=True)

    def render(self) -> Content:
        """Headline, advice, figures."""
        if self.banner is None:
            return Content("")
        width = self.content_size.width or self.app.size.width - 4
        alone = self.screen.has_class("-narrow")
        return self.content(self.banner.lines(max(20, width), alone=alone))

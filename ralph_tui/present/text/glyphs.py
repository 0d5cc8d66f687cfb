"""The signs of the screen, in Unicode and in ASCII. No other module contains a sign."""

import locale
import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Glyphs:
    """One set of signs. Each is a single cell wide; the last three are rows of signs."""

    ok: str = "✓"
    failed: str = "✗"
    denied: str = "⊘"
    interrupted: str = "■"
    skipped: str = "-"
    idle: str = "○"
    running: str = "●"
    verifying: str = "◆"
    handoff: str = "⇢"
    retry: str = "↻"
    asking: str = "?"
    pause: str = "‖"
    stop: str = "■"
    current: str = "▶"
    ready: str = "○"
    waiting: str = "◌"
    blocked: str = "⊘"
    text: str = "•"
    note: str = "·"
    learned: str = "✎"
    guidance: str = "↳"
    warning: str = "▲"
    branch: str = "└"
    arrow: str = "→"
    between: str = "·"
    chevron: str = "▸"
    line: str = "─"
    ellipsis: str = "…"
    full: str = "█"
    track: str = "░"
    zone: str = "▒"
    bar: str = "━"
    bar_track: str = "─"
    tick: str = "▴"
    dot: str = "●"
    no_dot: str = "○"
    levels: str = "▁▂▃▄▅▆▇█"
    spinner: str = "◐◓◑◒"
    joints: str = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"
    """Box-drawing signs by the sum of their directions: 1 up, 2 down, 4 left, 8 right."""

    @property
    def unicode(self) -> bool:
        return not self.ok.isascii()


UNICODE = Glyphs()

_TO_ASCII = str.maketrans(
    "✓✗⊘■○●◆⇢↻‖▶◌•·✎↳▲└→▸─…█░▒━▴◐◓◑◒▁▂▃▄▅▆▇╵╷│╴┘┐┤╶┌├┴┬┼",
    "+x!#o*?>~=>.*-+>!`>>-~#.:=^|/-\\._-=+*%|||-'.+-.+'++",
)
_SIGNS = {name: sign.translate(_TO_ASCII) for name, sign in vars(UNICODE).items()}

ASCII = Glyphs(**_SIGNS | {"note": ".", "no_dot": "."})


def choose(environ: Mapping[str, str] = os.environ, encoding: str | None = None) -> Glyphs:
    """Return the ASCII signs if RALPH_ASCII is set or the locale is not Unicode, otherwise the Unicode ones."""
    asked = environ.get("RALPH_ASCII", "").strip().lower()
    if asked not in ("", "0", "false", "no"):
        return ASCII
    name = (encoding or locale.getpreferredencoding(do_setlocale=False)).lower().replace("-", "")
    return UNICODE if name in ("utf8", "utf16", "utf32", "cp65001") else ASCII

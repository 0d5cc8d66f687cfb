"""Pictures the validation phase saw: `.ralph/validation/`, named in the report."""

import base64
import binascii
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.store.files import explained, write_atomic
from ralph_tui.store.layout import Layout

if TYPE_CHECKING:
    from ralph_tui.domain.documents.extensions import Picture

MAX_BYTES = 3_000_000
_SIGNATURES = {
    ".png": b"\x89PNG\r\n\x1a\n",
    ".jpg": b"\xff\xd8\xff",
    ".gif": b"GIF8",
    ".webp": b"RIFF",
}


def write_picture(
    layout: Layout, round_number: int, number: int, picture: "Picture"
) -> Path | None:
    """Keep a picture; None when it is none or too large, whatever it says it is."""
    try:
        data = base64.b64decode(picture.data, validate=True)
    except binascii.Error:
        return None
    ending = next((end for end, sign in _SIGNATURES.items() if data.startswith(sign)), None)
    if ending is None or len(data) > MAX_BYTES:
        return None
    path = layout.validation_pictures / f"r{round_number}-{number:02}{ending}"
    with explained("make the directory of", path):
        path.parent.mkdir(mode=0o700, exist_ok=True)
    write_atomic(path, data)
    return path

"""What the validation phase saw with the person's extra tools, kept for the report."""

import asyncio
import json

from ralph_tui.domain.documents.extensions import ToolOutput
from ralph_tui.domain.sanitize import head, one_line
from ralph_tui.domain.tool_calls import ToolCall
from ralph_tui.domain.verification.validation_report import Seen
from ralph_tui.store.project import Project

MAX_SEEN = 100
MAX_PICTURES = 20
TEXT_LIMIT = 2_000
LEFT_OUT = "[a picture was left out: no PNG, JPEG, GIF or WebP, too large, or too many]"


class Sights:
    """Collects what extra tools return; the first looks count, later ones are counted only."""

    def __init__(self, project: Project, round_number: int) -> None:
        """Keep the pictures of this round in `project`."""
        self._project = project
        self._round = round_number
        self._pictures = 0
        self._more = 0
        self._seen: list[Seen] = []

    async def take(self, call: ToolCall, output: ToolOutput) -> None:
        """Keep what a tool returned."""
        if len(self._seen) >= MAX_SEEN:
            self._more += 1
            return
        kept: list[str] = []
        for picture in output.pictures:
            self._pictures += 1
            path = None
            if self._pictures <= MAX_PICTURES:
                path = await asyncio.to_thread(
                    self._project.write_picture, self._round, self._pictures, picture
                )
            kept.append(path or LEFT_OUT)
        left_out = [text for text in kept if text == LEFT_OUT]
        self._seen.append(
            Seen(
                tool=call.name,
                input=one_line(json.dumps(call.input, ensure_ascii=False), 200),
                text=head("\n".join([output.text, *left_out]).strip(), TEXT_LIMIT),
                pictures=tuple(path for path in kept if path != LEFT_OUT),
            )
        )

    @property
    def seen(self) -> tuple[Seen, ...]:
        """Everything kept, and how much was not."""
        more = Seen(tool="", text=f"{self._more} more looks are not kept") if self._more else None
        return (*self._seen, more) if more else tuple(self._seen)

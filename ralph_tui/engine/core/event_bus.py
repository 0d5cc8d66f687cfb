"""Deliver events to named subscribers, to the face, and to the journal in a background thread."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence

from pydantic import JsonValue

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.events import EVENT, Event, EventSink, Notice
from ralph_tui.domain.redaction import redact
from ralph_tui.store.journal.journal import JournalWriter


class EventBus:
    """Passes events to subscribers, stamps them, shows them in the face and writes them in batches, in order."""

    def __init__(
        self,
        journal: JournalWriter,
        sink: EventSink,
        beside: Callable[[], Sequence[str]] = lambda: (),
    ) -> None:
        """Write to `journal`, and call `beside` in the same thread with each batch; it returns warnings."""
        self._beside = beside
        self._journal = journal
        self._sink = sink
        self._subscribers: dict[str, EventSink] = {}
        self._queue: list[Event] = []
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._writing: asyncio.Future[Sequence[str]] | None = None
        self.failure: StoreError | None = None
        """Why the journal could not be written; the loop stops on it."""

    def start(self) -> None:
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._task = asyncio.create_task(self._write_forever(), name="ralph-journal")

    def subscribe(self, name: str, listener: EventSink) -> None:
        self._subscribers[name] = listener

    def emit(self, event: Event) -> None:
        """Deliver one event, from any thread; never blocks."""
        if threading.get_ident() != self._thread and self._loop is not None:
            self._loop.call_soon_threadsafe(self.emit, event)
            return
        for listener in self._subscribers.values():
            listener(event)
        stamped = self._journal.stamp(without_secrets(event))
        self._sink(stamped)
        if not stamped.transient:
            self._queue.append(stamped)
            self._idle.clear()
            self._wake.set()

    async def _write_forever(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._write_queue()
            if not self._queue:
                self._idle.set()

    async def _write_queue(self) -> None:
        batch, self._queue = self._queue, []
        loop = (
            asyncio.get_running_loop()
        )  # not a task, because `asyncio.run` cancels all tasks at its end
        self._writing = loop.run_in_executor(None, self._write, batch)
        try:
            for text in await asyncio.shield(self._writing):
                self.emit(Notice(level="warning", text=text))
        except StoreError as error:
            self.failure = self.failure or error
        for text in self._journal.news():
            self.emit(Notice(level="error", text=text))

    def _write(self, batch: list[Event]) -> Sequence[str]:
        warnings = self._beside()
        self._journal.write(batch)
        return warnings

    async def written(self) -> StoreError | None:
        await self._idle.wait()
        return self.failure

    async def close(self) -> None:
        """Write the remaining events and stop, even if the writing task has been cancelled."""
        if self._task is None:
            return
        idle = asyncio.ensure_future(self._idle.wait())
        await asyncio.wait([idle, self._task], return_when=asyncio.FIRST_COMPLETED)
        idle.cancel()
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        if self._writing is not None:
            await asyncio.wait([self._writing])
            if isinstance(error := self._writing.exception(), StoreError):
                self.failure = self.failure or error
        if self._queue:
            await self._write_queue()
        self._journal.close()


def without_secrets(event: Event) -> Event:
    """Return the event without keys and passwords, also in commands and hand-written plans."""
    if event.transient:
        return event  # live text is already inert, and the finished text follows
    # One search of the whole event is a hundred times cheaper than one of every field.
    flat = event.model_dump_json(warnings="none").replace("\\n", "\n").replace('\\"', '"')
    if redact(flat) == flat:
        return event
    return EVENT.validate_python(_without_secrets(event.model_dump(mode="json")))


def _without_secrets(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    if isinstance(value, dict):
        return {redact(key): _without_secrets(item) for key, item in value.items()}
    return value

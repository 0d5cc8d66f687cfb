"""Runs work in the background; errors are shown and written to crash reports, never swallowed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from textual.dom import DOMNode
from textual.worker import Worker

from ralph_tui.domain.errors import RalphError
from ralph_tui.present.text.key_hints import commands_as_key_text
from ralph_tui.tui.host.widget_host import Host

T = TypeVar("T")


def do(
    node: DOMNode, work: Awaitable[object], group: str, *, exclusive: bool = False
) -> Worker[None]:
    """Start `work` in a worker of `node`; a bug in the work does not close the screen.

    Args:
        exclusive: Whether to cancel other work of the group first.
    """
    app = node.app
    assert isinstance(app, Host)
    return node.run_worker(
        _guarded(app, work), group=group, exclusive=exclusive, exit_on_error=False
    )


async def _guarded(app: Host, work: Awaitable[object]) -> None:
    try:
        await work
    except Exception as error:  # noqa: BLE001 - a bug in one command must not close the screen
        await app.failed(error)
    finally:
        app.call_later(app.work_ended)


async def attempt(app: Host, request: Callable[[], T]) -> T | None:
    """Send a request to the engine in a thread, because it may wait for the disk.

    Returns:
        The result, or None if the request failed and the error was shown.
    """
    try:
        return await asyncio.to_thread(request)
    except RalphError as error:
        app.report_problem(commands_as_key_text(app.keys, str(error)))
    except Exception as error:  # noqa: BLE001 - a bug in one request must not close the screen
        await app.failed(error)
    return None

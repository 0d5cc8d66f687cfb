"""Work beside the screen: what goes wrong in it is said and written down, never swallowed."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from textual.dom import DOMNode
from textual.worker import Worker

if TYPE_CHECKING:
    from ralph_tui.tui.host.widget_host import Host


def do(
    node: DOMNode, work: Awaitable[object], group: str, *, exclusive: bool = False
) -> Worker[None]:
    """Begin `work` for as long as `node` is there; a bug in it does not close the screen."""
    from ralph_tui.tui.host.widget_host import Host

    app = node.app
    assert isinstance(app, Host)
    return node.run_worker(_told(app, work), group=group, exclusive=exclusive, exit_on_error=False)


async def _told(app: "Host", work: Awaitable[object]) -> None:
    try:
        await work
    except Exception as error:  # noqa: BLE001 - a bug in one command must not close the screen
        await app.failed(error)
    finally:
        app.call_later(app.work_ended)

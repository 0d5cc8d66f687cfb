"""Uses of Textual's private names where no public one does the same; the rest of `tui` uses none.

Bindings: Textual can change an app's keys at run time, not a screen's (Textualize/textual#5477, open).
Closed screens: watchers of the app outlive them (Textualize/textual#6666, open). Gain: a garbage collection
is as short after a hundred dialogs as before the first.
Bugs: Textual prints the values of all variables, including secrets (no issue filed; #3069 asked for less, closed).
Escapes: there is no public way to write to the terminal outside drawing (no issue filed).
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from textual._styles_cache import StylesCache
from textual.app import App
from textual.binding import BindingsMap, BindingType
from textual.dom import DOMNode


def keys_bound(node: DOMNode) -> frozenset[str]:
    return frozenset(node._bindings.key_to_bindings)  # noqa: SLF001


def bind(node: DOMNode, bindings: Iterable[BindingType]) -> None:
    given = BindingsMap(bindings).key_to_bindings
    node._bindings.key_to_bindings.update(given)  # noqa: SLF001


def forget_closed(app: App[Any]) -> None:
    """Drop the references to closed screens.

    Textual keeps watchers of the view until the view changes, and a cache of a thousand widgets keeps what they drew,
    so every garbage collection took a little longer than the one before.
    """
    watchers = getattr(app, "__watchers", {}).get("view", [])
    watchers[:] = [(node, callback) for node, callback in watchers if node.is_running]
    StylesCache.get_inner_outer.cache_clear()


def end_at_bug(app: App[Any], report: Callable[[Exception], int]) -> None:
    """Report the bug that ends the app once, instead of printing it with all its variables.

    Args:
        report: Called with the error before the screen closes; returns the exit status.
    """
    found = cache(report)  # what is still to be drawn fails again

    def end() -> None:
        error = app._exception  # noqa: SLF001 - the first one
        if error is not None:
            app._return_code = found(error)  # noqa: SLF001
        app._close_messages_no_wait()  # noqa: SLF001

    app._fatal_error = end  # type: ignore[method-assign]  # noqa: SLF001


def write_escape(app: App[Any], escape: str) -> None:
    if app._driver is not None:  # noqa: SLF001
        app._driver.write(escape)  # noqa: SLF001

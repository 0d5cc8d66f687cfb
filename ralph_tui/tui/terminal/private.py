"""Textual's private names that ralph uses where no public one does the same."""

from collections.abc import Iterable

from textual._styles_cache import StylesCache
from textual.app import App
from textual.binding import BindingsMap, BindingType
from textual.dom import DOMNode


def bind(node: DOMNode, bindings: Iterable[BindingType]) -> None:
    """Give a screen these keys beside its own; which ones is known only when it opens."""
    given = BindingsMap(bindings).key_to_bindings
    node._bindings.key_to_bindings.update(given)  # noqa: SLF001 - Textual has a public way for the app only


def forget_closed(app: App[int]) -> None:
    """Let go of closed screens.

    Textual keeps those that followed the view until that changes, and in a cache of a thousand
    widgets all that they drew: every collection of garbage took a little longer than the one before.
    """
    watchers = getattr(app, "__watchers", {}).get("view", [])
    watchers[:] = [(node, callback) for node, callback in watchers if node.is_running]
    StylesCache.get_inner_outer.cache_clear()

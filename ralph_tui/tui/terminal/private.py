"""Keys of a screen that are known only when it opens, because the person may have changed them."""

from collections.abc import Iterable

from textual.binding import BindingsMap, BindingType
from textual.dom import DOMNode


def bind(node: DOMNode, bindings: Iterable[BindingType]) -> None:
    """Give a screen these keys beside its own."""
    given = BindingsMap(bindings).key_to_bindings
    node._bindings.key_to_bindings.update(given)  # noqa: SLF001 - Textual has a public way for the app only

"""Keys as people write them."""

_SHOWN = {
    "question_mark": "?",
    "plus": "+",
    "minus": "-",
    "slash": "/",
    "comma": ",",
    "full_stop": ".",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "enter": "enter",
    "shift+tab": "shift+tab",
}


def key_label(key: str) -> str:
    """A key as people write it."""
    return _SHOWN.get(key, key.upper() if key.startswith("f") and key[1:].isdigit() else key)

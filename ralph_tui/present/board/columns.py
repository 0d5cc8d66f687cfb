"""Share the width of the dashboard between its columns. Imports nothing, because the splash needs it at startup."""

WIDE, WIDEST = 100, 140
"""The screen widths from which there are two columns, and three."""

LEAST_BOARD = 40
"""Minimum cells of the board beside the activity; long titles may need more."""

BESIDE_TITLES = 5
"""Cells of the board's frame, padding, scrollbar and gap."""

_LEAST_SIDE = 44
"""Minimum cells of the third column; in a wider terminal it gets more than a quarter."""


def most_board(width: int) -> int:
    return width * 3 // 10 if width >= WIDEST else width * 2 // 5


def share_width(width: int, wanted: int) -> tuple[int, int, int]:
    """Return the cells of the board, which wants those of the longest title, the activity and the third column or 0."""
    board = max(LEAST_BOARD, min(wanted, most_board(width)))
    side = max(_LEAST_SIDE, width * 28 // 100) if width >= WIDEST else 0
    return board, width - board - side, side

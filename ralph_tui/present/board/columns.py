"""Shares the width of the dashboard between its columns. Imports nothing: the splash needs it before anything is loaded."""

WIDE, WIDEST = 100, 140
"""Cells from which there are two columns, and three."""

LEAST_BOARD = 40
"""Cells of the board beside the activity, at least; its titles may need more."""

BESIDE_TITLES = 5
"""Cells of the board's frame, its padding, the scrollbar and the gap before it."""

_LEAST_SIDE = 44
"""Cells of the third column, at least; a wider terminal gives it more than a quarter."""


def most_board(width: int) -> int:
    """Return how many cells the board may take of a screen with several columns."""
    return width * 3 // 10 if width >= WIDEST else width * 2 // 5


def share_width(width: int, wanted: int) -> tuple[int, int, int]:
    """Return the cells of the board, the activity and the third column; 0 for one that is not there.

    Args:
        width: Cells of the screen, from `WIDE`.
        wanted: Cells in which the longest title fits.
    """
    board = max(LEAST_BOARD, min(wanted, most_board(width)))
    side = max(_LEAST_SIDE, width * 28 // 100) if width >= WIDEST else 0
    return board, width - board - side, side

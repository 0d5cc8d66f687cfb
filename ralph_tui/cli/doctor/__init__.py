"""What a run needs of this machine, and whether it is there: the checks of `ralph doctor` and of a start.

May not: change anything, or spend money.
Callers: `commands`, `run` and `composition`.
"""

"""Checks whether this machine has what a run needs, for `ralph doctor` and before a run starts.

May not: change anything, or spend money.
Callers: `commands`, `run` and `composition`.
"""

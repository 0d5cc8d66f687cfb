"""One run from start to end: the checks before it, its phases, and how other processes watch it.

May not: know a user interface; those get `engine.control.launch`.
Callers: `cli` and `demo`, which put the parts together.
"""

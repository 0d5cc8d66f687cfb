"""One run from its start to its end: checks before it, the way through the phases, and watching it from outside.

May not: know a face; `engine.control.launch` is what a face gets.
Callers: `cli` and `demo`, which put the parts together.
"""

"""Copies outside the work tree: the mirror of the state, records of completions and original check files.

May not: be stored where an agent's commands can write.
Callers: `store.project` and `engine.verification`; `ralph restore` and `ralph reset`.
"""

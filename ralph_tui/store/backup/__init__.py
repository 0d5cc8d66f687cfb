"""Copies outside the work tree: the mirror of the state, completion receipts and original check files.

May not: be stored where an agent's commands can write.
Callers: `store.project` and `engine.verification`; `ralph restore` and `ralph reset`.
"""

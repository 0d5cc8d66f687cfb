"""Copies outside of the work tree: the mirror of the state, receipts, original check files.

May not: be where an agent's commands can write.
Callers: `store.project` and `engine.verification`; `ralph restore` and `ralph reset`.
"""

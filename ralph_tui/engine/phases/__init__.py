"""Discovery, planning, building and validation, and their iterations.

May not: choose the next phase; `engine.run.phase_order` does.
Callers: `engine.run`.
"""

"""Discovery, planning, building and validation, and their iterations.

May not: choose the next phase; `engine.run.lifecycle` does.
Callers: `engine.run`.
"""

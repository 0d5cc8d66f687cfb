"""Discovery, planning, building and validation, and the iterations they are made of.

May not: choose the next phase; `engine.run.lifecycle` does.
Callers: `engine.run`.
"""

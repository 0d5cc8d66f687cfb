"""One agent session: its spec, turns, supervisor, tools, memory, review and hand-off.

May not: choose the next task or phase.
Callers: `engine.phases` and `engine.run`.
"""

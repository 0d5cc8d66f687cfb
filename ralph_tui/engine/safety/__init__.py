"""Safety around a run's commands: the sandbox, the repository guard, processes, extensions.

May not: judge a tool call; `ralph_tui.guard` does.
Callers: the rest of the engine, `agent`, `ralph doctor`.
"""

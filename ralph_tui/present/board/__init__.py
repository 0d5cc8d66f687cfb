"""The task board: rows and groups of tasks, the dependency graph, the next task.

May not: choose or change a task; `engine` does.
Callers: the task board and the plan review in `tui`.
"""

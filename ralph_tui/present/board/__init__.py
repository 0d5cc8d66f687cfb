"""The plan as rows: tasks and their state, groups, the graph of dependencies, the next task.

May not: choose or change a task; `engine` does.
Callers: the task board and the plan review in `tui`.
"""

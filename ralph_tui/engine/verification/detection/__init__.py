"""Detection of the commands that check a project, in its files or its settings.

May not: run anything of the project.
Callers: the gate, prompts, `ralph init` and `ralph doctor`.
"""

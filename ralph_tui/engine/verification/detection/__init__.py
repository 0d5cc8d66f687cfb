"""Detect the commands that check a project, from its files or its settings.

May not: run the project's code.
Callers: the gate, prompts, `ralph init` and `ralph doctor`.
"""

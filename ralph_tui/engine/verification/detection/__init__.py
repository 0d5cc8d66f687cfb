"""Which commands check a project, found in its files or named in its settings.

May not: run anything of the project.
Callers: the gate, prompts, `ralph init` and `ralph doctor`.
"""

"""The command line: one file per verb in `commands`, what runs a loop in `run`, what `ralph doctor` looks at in `doctor`.

May not: import anything heavy at module scope, or Typer before `app`.
Callers: the console scripts.
"""

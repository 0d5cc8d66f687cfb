"""The command line: one module per command in `commands`, running a loop in `run`, the checks of `ralph doctor` in `doctor`.

May not: import anything heavy at module scope, or Typer before `app`.
Callers: the console scripts.
"""

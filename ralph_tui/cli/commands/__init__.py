"""One module per command or family of commands: options, help and output.

May not: import one another, or anything heavy at module scope; `ralph --help` loads them all.
Callers: `app`.
"""

"""The journal of events: one writer, any number of readers, and fast scans that parse only some lines.

May not: define what an event means; `domain.events` does.
Callers: `engine` writes; `tui` and `cli` read.
"""

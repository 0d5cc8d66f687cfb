"""The journal of events: one writer, any number of readers, scanned without parsing it all.

May not: change what an event means; `domain.events` says that.
Callers: `engine` writes; `tui` and `cli` read.
"""

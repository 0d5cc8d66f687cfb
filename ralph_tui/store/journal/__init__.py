"""The journal of events: written by one, read by any number, scanned without parsing it all.

May not: change what an event means; `domain.events` says that.
Callers: `engine` writes; `tui` and `cli` read.
"""

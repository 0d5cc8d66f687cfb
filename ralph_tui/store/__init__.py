"""The project's files: documents and their transactions, the journal, copies outside the work tree, and locks.

May not: decide anything about the loop, or be bypassed; no other package writes these files.
Callers: `engine`, `demo`, `tui` and `cli`.
"""

"""The project's files: documents in transactions, the journal, copies outside the work tree, locks.

May not: decide anything about the loop, or be bypassed (nobody else writes these files).
Callers: `engine`, `demo`, `tui` and `cli`.
"""

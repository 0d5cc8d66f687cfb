"""The .ralph/ directory: atomic files, the lock, transactions, the journal, the watcher.

May not: decide anything about the loop; be bypassed (nobody else writes these files).
Callers: engine, demo, tui and cli.
"""

"""Finds what changed in the repository during a run, and who changed it.

May not: write to the repository.
Callers: engine and cli.
"""

"""Walks the parsed script and asks the rules about every program that would start.

May not: hold a rule for a single program.
Callers: `guard.worker` and `ralph guard check`.
"""

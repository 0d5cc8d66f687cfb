"""A file per verb or family of verbs: its options, its help and what it prints.

May not: import one another, or anything heavy at module scope; `ralph --help` loads them all.
Callers: `app`.
"""

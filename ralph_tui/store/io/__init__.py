"""Files as such: whole or absent, strict JSON, rotation, quarantine, wake-ups.

May not: know which file holds what; `layout` and `documents` do.
Callers: the other rooms of `store`, and `engine` and `cli` for single files.
"""

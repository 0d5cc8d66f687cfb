"""File primitives: atomic writes, strict JSON, rotation, quarantine and change notifications.

May not: know which file contains what; `layout` and `documents` do.
Callers: the other packages of `store`, and `engine` and `cli` for single files.
"""

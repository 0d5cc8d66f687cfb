"""The building blocks of every line: toned spans, signs, figures, key hints, Markdown.

May not: know an event or a tool.
Callers: the rest of `present`, `tui` and `cli`.
"""

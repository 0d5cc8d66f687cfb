"""The commands of the screen: their keys, names and help, and when each can be used.

May not: do anything; `handlers` does.
Callers: the footer, the palette, the help, docs/keys.md and `app`.
"""

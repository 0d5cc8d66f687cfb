"""What people read, made once for both faces: events, tool calls and project state as words and toned lines.

May not: import Textual, read a file, or know a screen or a terminal.
Callers: `tui` and `cli`.
"""

"""A tool call in one line and in detail: one renderer for each tool.

May not: run a tool or change a call.
Callers: `present.events`, `present.timeline` and the permission dialog.
"""

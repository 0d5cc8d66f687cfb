"""Tool calls on one line and in detail, with one renderer for each tool.

May not: run a tool or change a call.
Callers: `present.events`, `present.timeline` and the permission dialog.
"""

"""The stream of a run: events folded into entries, and entries as lines and in detail.

May not: draw; the widgets do.
Callers: the stream, the iteration pages and the dashboard in `tui`.
"""

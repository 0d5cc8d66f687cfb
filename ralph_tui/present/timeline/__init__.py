"""The stream of a run: entries made from events, shown as lines and in detail.

May not: draw; the widgets do.
Callers: the stream, the iteration pages and the dashboard in `tui`.
"""

"""Data for the screens that no event carries: the project's texts and pending decisions.

May not: import a widget.
Callers: `screens` and `handlers`.
"""

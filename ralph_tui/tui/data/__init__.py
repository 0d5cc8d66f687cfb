"""Data for the screens that no event carries: the project's texts, pending decisions, a replay's position.

May not: import a widget.
Callers: `screens` and `handlers`.
"""

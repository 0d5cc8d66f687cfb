"""What screens show that is no event: the project's texts, what waits for the person, a replay's position.

May not: know a widget.
Callers: `screens` and `handlers`.
"""

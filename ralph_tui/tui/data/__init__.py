"""What screens read that is no event: the journal's past, the project's texts, exports.

May not: know a widget.
Callers: `screens` and `handlers`.
"""

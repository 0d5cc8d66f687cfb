"""Ralph's colors and the style sheets.

May not: name a widget.
Callers: `app`, and screens that bring sheets of their own.
"""

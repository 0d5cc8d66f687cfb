"""Ralph's themes and style sheets.

May not: name a widget.
Callers: `app`, and screens with style sheets of their own.
"""

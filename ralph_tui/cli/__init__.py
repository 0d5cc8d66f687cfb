"""The Typer tree and the line-mode printer.

May not: import anything heavy at module scope.
Callers: the console scripts.
"""

"""The parts of the screen: lists, panels, bars, texts.

May not: import a screen, or query each other.
Callers: `screens`.
"""

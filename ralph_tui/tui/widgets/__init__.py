"""The parts of the screen: lists, panels, bars, texts.

May not: know a screen, or query each other.
Callers: `screens`.
"""

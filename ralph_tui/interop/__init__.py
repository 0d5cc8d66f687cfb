"""Reads plans in other tools' formats as tasks, and writes their progress back, byte for byte.

May not: touch the disk, the clock or the store; texts come in, models and texts go out.
Callers: engine.control, cli, tui.
"""

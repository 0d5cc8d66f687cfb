"""What people see, built from events: the live view, the run history, metrics and the forecast.

May not: format for one face; `present` does.
Callers: `present`, `tui`, `cli`, and `engine` for what it records.
"""

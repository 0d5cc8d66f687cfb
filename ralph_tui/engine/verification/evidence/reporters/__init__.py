"""Reporters that run inside the project's own test runner and write to a file of ralph's.

May not: import anything but the standard library and the runner; the project's own Python runs these modules.
Callers: the runner, which finds this folder on its `PYTHONPATH`.
"""

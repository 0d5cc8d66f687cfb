"""Reporters that run inside the project's own test runners and write report files for ralph.

May not: import anything but the standard library and the runner; the project's own Python runs these modules.
Callers: the runner, which finds this folder on its `PYTHONPATH`.
"""

"""The demo: a loopback Messages API that plays scenarios to the real CLI, and its project.

May not: reach the network, or be needed by a real run.
Callers: `cli`, `tui` and the tests.
"""

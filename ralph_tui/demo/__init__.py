"""A loopback Messages API that plays scenarios to the real CLI, and the demo project.

May not: reach the network; be needed by a real run.
Callers: tui, cli and the tests.
"""

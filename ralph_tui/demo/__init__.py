"""The demo: its project, and a loopback Messages API that plays scenarios to the real CLI.

May not: reach the network, or be needed by a real run.
Callers: `cli`, `tui` and the tests.
"""

"""Starts and shows runs: on the screen, as lines or in the background; reads requests and answers.

May not: know Typer or declare options.
Callers: `commands`, and `main` for a bare `ralph`.
"""

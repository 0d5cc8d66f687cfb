"""How a run is shown and fed: screen or lines, prompts on a terminal, requests and answers, the background.

May not: know Typer or declare options.
Callers: `commands`, and `main` for a bare `ralph`.
"""

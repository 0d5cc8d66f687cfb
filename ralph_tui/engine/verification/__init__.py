"""How a claim is checked: which commands check this project, and what they show.

What lives here: finding the project's own check commands. The gate and its evidence follow.
May not: run a command while looking for one; import the SDK, Textual or Typer.
Callers: the gate, prompts, and the commands that show or run checks.
"""

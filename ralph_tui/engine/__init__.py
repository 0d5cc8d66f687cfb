"""The loop: what happens next is decided here, by Python.

What lives here: selection, prompts, the gate, budgets and limits at work, hand-off, controls.
May not: import the SDK, Textual or Typer; know what a screen looks like.
Callers: agent (for the ports), demo, tui and cli.
"""

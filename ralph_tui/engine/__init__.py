"""Decide what happens next: the loop, its phases, sessions, limits and verification.

What lives here: selection, prompts, the gate, budgets and limits at work, hand-off, controls.
May not: import the SDK, Textual or Typer; know what a screen looks like.
Callers: agent (for the ports), demo, tui and cli.
"""

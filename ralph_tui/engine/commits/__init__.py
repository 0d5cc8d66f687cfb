"""Commits by ralph: when a run makes them, what is written down about them, and what stops it.

May not: run git itself (vcs does), or know phases and sessions.
Callers: session, phases and run.
"""

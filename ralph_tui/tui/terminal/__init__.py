"""Every deviation from Textual, and nothing else: each module says why, which issue it waits for and what it gains.

May not: know anything about loops. Nothing outside names a private part of Textual.
Callers: `app`, `host`, `widgets` and `screens`; `cli` draws the splash.
"""

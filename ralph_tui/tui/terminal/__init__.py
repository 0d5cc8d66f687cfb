"""Every deviation from Textual; each module gives the reason, the upstream issue and the measured gain.

May not: know anything about loops. No module outside uses a private name of Textual.
Callers: `app`, `host`, `widgets` and `screens`; `cli` draws the splash.
"""

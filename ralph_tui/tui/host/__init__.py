"""What the parts of the screen may use of the app: settings, toasts, background work, the loop's view.

May not: import a widget or a screen.
Callers: every other room of `tui` above it.
"""

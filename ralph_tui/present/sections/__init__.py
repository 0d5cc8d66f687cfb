"""What each page, panel and dialog says, as parts and lines: a module per subject.

May not: import Textual or ask the engine.
Callers: the screens and widgets of `tui`.
"""

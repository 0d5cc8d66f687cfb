"""The text of each page, panel and dialog as parts and lines, with a module per subject.

May not: import Textual or ask the engine.
Callers: the screens and widgets of `tui`.
"""

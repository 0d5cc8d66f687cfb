"""The parts of the screen, one public class per file.

What lives here: widgets that show a slice of the view. They get data by attributes and speak upward
in messages. May not: know the engine, query a sibling, parse hostile text as markup.
Callers: screens.
"""

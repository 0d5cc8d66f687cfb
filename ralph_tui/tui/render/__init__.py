"""From events and tool calls to text on the screen.

What lives here: one small renderer per tool, spans with tones, figures. Pure functions, no widgets.
May not: parse hostile text as markup, read files, hold state.
Callers: timeline, widgets and screens.
"""

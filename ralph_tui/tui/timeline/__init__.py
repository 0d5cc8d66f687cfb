"""The stream as data: events folded into entries, entries into lines.

What lives here: entries, the fold that keeps a bounded number of them, their one-line form and
their detail. May not: import widgets or know a size other than the width it is given.
Callers: the stream widget and the detail screen.
"""

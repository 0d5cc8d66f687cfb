"""The screens: the dashboard, the pages and the dialogs above them.

May not: change the loop. Screens return the person's choice to `handlers`.
Callers: `handlers` and `app`.
"""

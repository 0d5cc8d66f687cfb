"""The screens: the dashboard, the pages and the dialogs above them.

May not: change the loop; what was chosen goes back to `handlers`.
Callers: `handlers` and `app`.
"""

"""The dialogs over the dashboard: questions, approvals, forms, details, help.

May not: import a page.
Callers: `handlers` and the pages.
"""

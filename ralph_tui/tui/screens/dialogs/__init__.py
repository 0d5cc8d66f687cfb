"""What is put over the dashboard: questions, approvals, forms, details, help.

May not: know a page.
Callers: `handlers` and the pages.
"""

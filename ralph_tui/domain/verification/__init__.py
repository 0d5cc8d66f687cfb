"""The models of verification: commands, test counts, receipts and reviews.

May not: run a command; `engine.verification` does.
Callers: every room.
"""

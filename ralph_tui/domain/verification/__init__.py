"""How work is verified: commands, counts, receipts and reviews, as models.

May not: run a command; `engine.verification` does.
Callers: every room.
"""

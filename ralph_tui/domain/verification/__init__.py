"""How work is verified: commands, counts, receipts, reviews and the validation report, as models.

May not: run a command; `engine.verification` does.
Callers: every room.
"""

"""The limits of a run: context, rate, quota and circuit breaker, as pure values.

May not: read a clock or decide what the loop does next.
Callers: every room.
"""

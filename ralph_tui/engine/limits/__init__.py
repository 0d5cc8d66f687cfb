"""Decide when a run must wait or end: costs, iterations, rate, quota, outages and the circuit breaker.

May not: start a session or change the plan.
Callers: `engine.session`, `engine.phases` and `engine.run`.
"""

"""The pages behind keys 4 to 9: iterations, history, memory, why, settings, features.

May not: import each other, except that history opens an iteration.
Callers: `handlers.view`, by name.
"""

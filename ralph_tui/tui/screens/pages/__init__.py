"""The pages behind keys 4 to 8: iterations, history, memory, why, settings.

May not: import each other, other than history, which walks through iterations.
Callers: `handlers.page_opener`, by name.
"""

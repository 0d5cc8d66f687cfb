"""What all tests share: the loopback model, hand-written projects, real processes, waiting.

Nothing here asserts; it sets up, waits and reads. Import from the modules, not from here.
"""

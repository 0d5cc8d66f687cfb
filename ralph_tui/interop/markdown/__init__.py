"""Plans that are lists of check boxes in Markdown: one reader, six formats.

May not: touch the disk, the clock or the store; interpret Markdown beyond what decides about a box.
Callers: interop.registry.
"""

"""Plans made of check boxes in Markdown: one reader for six formats.

May not: touch the disk, the clock or the store; interpret Markdown beyond what is needed to find boxes.
Callers: interop.format_registry.
"""

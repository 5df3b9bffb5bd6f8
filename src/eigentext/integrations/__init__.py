"""Bridges to other libraries; each is imported by its own name, and only where it is wanted."""

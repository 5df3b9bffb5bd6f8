"""Bytes on disk or behind a URL: opened, packed, and written whole or not at all."""

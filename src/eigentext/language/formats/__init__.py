"""One file per on-disk format: read gives an iterator, write takes one."""

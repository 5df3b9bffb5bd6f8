"""The version of this package, for all rooms: they do not import the front door."""

VERSION = "0.2.0"

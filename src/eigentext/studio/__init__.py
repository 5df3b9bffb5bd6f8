"""The studio: annotation by people, the service, and its pages.  It imports the core alone."""

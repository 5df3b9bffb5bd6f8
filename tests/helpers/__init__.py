"""What several tests, or the processes they start, import."""

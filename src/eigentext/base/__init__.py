"""What every room stands on: files, settings, models, and the small loops that they share."""

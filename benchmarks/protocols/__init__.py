"""What experiments of the papers do and the toolkit does not."""

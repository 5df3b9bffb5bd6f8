"""The small data this project's authors wrote, and the catalogue of open data sets."""

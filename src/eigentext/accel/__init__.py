"""All code for a graphics card; the rest of the package knows it by names alone."""

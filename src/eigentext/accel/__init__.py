"""All code for a graphics card; the models whose loops it runs find it by name."""

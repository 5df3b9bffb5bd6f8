"""The pages of the studio, as they are served."""

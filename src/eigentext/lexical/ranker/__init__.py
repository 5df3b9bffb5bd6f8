"""The ranker: features and candidates counted, weighed and ranked."""

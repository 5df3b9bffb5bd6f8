"""Rules as sums of products of three vectors (Cohen and Collins 2012)."""

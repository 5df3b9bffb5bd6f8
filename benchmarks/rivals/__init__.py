"""Other methods, to compare with: what only benchmarks use."""

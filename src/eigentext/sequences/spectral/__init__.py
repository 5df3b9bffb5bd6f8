"""Models of operators: moments, operators, and parameters recovered from them."""

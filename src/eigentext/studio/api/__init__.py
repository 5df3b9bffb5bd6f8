"""The JSON API: routes, what they take and give, and the answers of models behind them."""

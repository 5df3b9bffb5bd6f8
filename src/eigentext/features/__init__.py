"""Hidden states: what the models with states behind their labels share about finding them."""

"""Arrays in, arrays out; knows neither words nor trees."""

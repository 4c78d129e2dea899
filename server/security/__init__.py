"""Protection of the server: response headers, allowed hosts, signatures, secrets, rate limits."""

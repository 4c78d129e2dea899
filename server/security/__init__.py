"""What protects the server: response headers, allowed hosts, signatures, secrets, rate limits."""

"""What browsers say of where a form comes from."""

ELSEWHERE: list[dict[str, str]] = [
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:9999"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://localhost.evil.example"},
]
"""From another site, as a new browser says it and as one before 2020 or over plain HTTP."""

FROM_OUR_PAGE: list[dict[str, str]] = [
    {},
    {"Origin": "null"},
    {"Origin": "http://localhost"},
    {"Origin": "https://localhost"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
    {"Sec-Fetch-Site": "none"},
]
"""From our own page, which sends no referrer; the first says nothing, as very old browsers do."""

"""Headers by which browsers report the origin of a form."""

ELSEWHERE: list[dict[str, str]] = [
    {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:9999"},
    {"Origin": "https://evil.example"},
    {"Origin": "http://localhost.evil.example"},
]
"""Headers from another site, from a new browser and from a browser before 2020 or over plain HTTP."""

FROM_OUR_PAGE: list[dict[str, str]] = [
    {},
    {"Origin": "null"},
    {"Origin": "http://localhost"},
    {"Origin": "https://localhost"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
    {"Sec-Fetch-Site": "none"},
]
"""Headers from our page, which sends no referrer; the first entry has no header, as from very old browsers."""

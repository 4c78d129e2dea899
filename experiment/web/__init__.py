"""The browser client: TypeScript sources (`src/`), and the bundle (`static/`) that the server sends to browsers."""

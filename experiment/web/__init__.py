"""The browser client: TypeScript sources (`src/`) and the bundle made of them (`static/`), which the server sends."""

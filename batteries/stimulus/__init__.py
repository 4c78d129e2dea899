"""The stimulus of an item: its parts (texts, pictures, sounds, videos), and the files (assets) of these parts.

`parts` has the models of the parts. `asset_files` finds and checks a file, `pictures` and `recordings` read the two
kinds of file, and `svg` refuses unsafe drawings. `shown` gives the form of a content for a browser.
"""

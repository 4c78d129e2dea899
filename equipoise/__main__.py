"""`python -m equipoise`: the command line."""

from equipoise.cli.main import main

main()

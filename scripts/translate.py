"""`glossa translate` as a script: see `--help`."""

from glossa_command import main

if __name__ == "__main__":
    main("translate")

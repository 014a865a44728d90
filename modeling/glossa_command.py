"""The entry point of the command `glossa`; see `glossa/__init__.py` for why it is a module of its own."""


def main(*arguments: str) -> None:
    """Run `glossa` with `arguments` before those of the command line: `main("train")` is the script `train.py`."""
    from glossa.cli import main as run

    run(*arguments)


if __name__ == "__main__":
    import glossa_command  # under its own name, which `glossa` looks for

    glossa_command.main()

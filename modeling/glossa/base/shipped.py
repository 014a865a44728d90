"""Folders of the repository that the wheel carries inside the package: `configuration` and `model_card`."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def shipped(name: str) -> Path:
    """The folder `name`, of the package if it was installed from a wheel, else of the repository."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parents[1] / name

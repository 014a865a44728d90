"""Folders of the repository that the wheel includes in the package: `configuration` and `model_card`."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def shipped(name: str) -> Path:
    """The path of the folder `name`: in the package if installed from a wheel, otherwise in the repository."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parents[1] / name

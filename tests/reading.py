"""What the tests of the readers share: reading a file, and a file that is refused."""

import pytest

from glossa.base.errors import GlossaError
from glossa.readers.reading import Columns, read_rows

BY_LANGUAGE = Columns((("en", "fr"), ("source", "target")))
REVERSE = Columns((("fr", "en"), ("source", "target")))


def read(path, columns=BY_LANGUAGE, limit=None):
    """The rows of a file, or of aligned ones."""
    return list(read_rows(path if isinstance(path, tuple) else (path,), columns, limit))


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(path, message, columns=BY_LANGUAGE):
    with pytest.raises(GlossaError, match=message) as error:
        read(path, columns)
    assert "\n" not in str(error.value)

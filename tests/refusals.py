"""What is refused, and in which words."""

import pytest

from glossa.base.errors import GlossaError


def refused(words, call, *arguments, **settings):
    """Checks that a call ends with an error that has these words, which are a pattern."""
    with pytest.raises(GlossaError, match=words):
        call(*arguments, **settings)

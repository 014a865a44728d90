"""A short run of the killed jobs of `glossa prepare`."""

import pytest

from torture.prepare import PLACES, torture


@pytest.mark.slow
def test_killed_jobs_write_the_same_files():
    assert torture(1, seed=1, places=PLACES[:1])["kills"] == 1

"""A short run of the torture of the endpoint handler."""

from torture import handler


def test_hostile_and_ordinary_requests():
    figures = handler.torture(60, 1)
    assert figures["requests"] == 60 and 10 < figures["hostile"] < 40
    assert figures["uncaught"] == figures["over_time_limit"] == 0

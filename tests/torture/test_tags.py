from torture import placeholders, tags


def test_tags_come_back_once_and_nested():
    figures = tags.torture(400, seed=1)
    assert figures["texts"] == 400 and figures["tags"] > 1000


def test_placeholders_come_back_exactly():
    figures = placeholders.torture(300, seed=1)
    assert figures["put_back"] > 100

from torture.readers import torture


def test_damaged_files_are_read_whole_or_refused():
    figures = torture(300, seed=1)
    assert figures["inputs"] == 300 == figures["read"] + figures["refused"]
    assert figures["read"] > 100 and figures["refused"] > 50

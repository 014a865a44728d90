from torture.documents import torture


def test_damaged_documents_lose_nothing_or_are_refused():
    figures = torture(150, seed=1)
    assert figures["documents"] == 150 == figures["same"] + figures["refused"] and figures["same"] > 70

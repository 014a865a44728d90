"""Which curves of finished runs are used for forecasts."""

from benchmarks.curves import curves_in


def test_curves_of_small_models_and_of_plain_training_are_used_by_their_texts():
    curve = "0.2/10/5.5 0.4/20/4.5 0.6/30/4 0.8/35/3.5 1/36/3.4"
    found = curves_in(
        {"table": table, "row": row, "seed": 1, "metrics": metrics}
        for table, row, metrics in (
            ("curves", "help, French: 3,000 pairs, 6 passes", {"curve": curve.replace("/5.5", "")}),  # without a loss
            ("stages", "anki-10k, 0.5 h: plain", {"curve": curve}),
            ("stages", "anki-10k, 0.5 h: both", {"curve": ""}),  # does not start from a new model
            ("stages", "help, 0.1 h: plain", {"curve": "0.5/1/9 1/2/8"}),  # says too little
            ("verdict", "500 pairs, 2 passes", {}),
        )
    )
    assert [name.partition(":")[0] for name in found] == ["help, French", "Anki"]
    for points in found.values():
        assert points[0] == (0.2, 10) and points[-1] == (1, 36)

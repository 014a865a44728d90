"""Requests made from the specification of the server: none is answered with a fault, and each error has a message.

GLOSSA_REQUESTS sets the number for each path, which is small in the suite.
"""

import os

import pytest
from hypothesis import HealthCheck, given, settings

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis: pip install -e .[dev]")
NUMBER = int(os.environ.get("GLOSSA_REQUESTS", "15"))
WITH_FIELDS = ["/translate", "/translate_stream", "/", "/detect", "/suggest", "/explain", "/translate_file"]
CASES = [(path, valid) for path in WITH_FIELDS for valid in (True, False)] + [("/languages", True), ("/health", True)]


@pytest.mark.parametrize(("path", "valid"), CASES)
@pytest.mark.slow
def test_no_request_is_answered_with_a_fault(url, path, valid):
    schema = schemathesis.openapi.from_url(f"{url}/spec")
    operation = next(iter(schema[path].values()))
    mode = schemathesis.GenerationMode.POSITIVE if valid else schemathesis.GenerationMode.NEGATIVE

    @settings(max_examples=NUMBER, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case):
        answer = case.call(base_url=url, timeout=60)
        assert answer.status_code in (200, 400, 403, 404, 405, 429), answer.text
        if answer.status_code != 200:
            assert answer.json().keys() == {"error"}

    ask()

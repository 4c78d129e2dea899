"""Tables without mistakes have no finding."""

import numpy as np
import pytest

from analysis.audit import audit_table
from tests.analysis.audit.audit_tables import sentences, wrong
from tests.analysis.audit.clean_tables import TESTS, clean_table

TABLES = 60
"""Number of tables of each kind."""


@pytest.mark.parametrize("name", TESTS)
def test_tests_without_mistakes_have_no_finding(name):
    kind, words = TESTS[name]
    rng = np.random.default_rng(7)
    for _ in range(TABLES):
        printed = clean_table(kind, words, rng)
        audited = audit_table(printed)
        assert wrong(audited).empty, f"{sentences(wrong(audited))}\n{printed}"

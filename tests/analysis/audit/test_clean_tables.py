"""Tables without mistakes have no finding."""

import numpy as np
import pytest

from analysis.audit import audit_table
from tests.analysis.audit.audit_tables import sentences, wrong
from tests.analysis.audit.clean_tables import KINDS, clean_table

TABLES = 40
"""Number of tables of each kind."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_without_mistakes_has_no_finding(kind):
    rng = np.random.default_rng(7)
    for _ in range(TABLES):
        printed = clean_table(kind, rng)
        audited = audit_table(printed)
        assert wrong(audited).empty, f"{sentences(wrong(audited))}\n{printed}"

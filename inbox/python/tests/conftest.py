"""What all tests need: a database; without one they are skipped."""

from __future__ import annotations

import pytest
from database import DSN, execute


@pytest.fixture(scope="session")
def database() -> None:
    if not DSN:
        pytest.skip("ONCEWARD_TEST_DSN is not set: it names a database with the schema onceward")
    execute("SELECT onceward.register_ledger('python', max_result_bytes => 1000)")
    execute("SELECT onceward.register_ledger('python_leases', 'lease')")
    execute("CREATE TABLE IF NOT EXISTS python_effects (key text, value text)")

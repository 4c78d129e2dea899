"""Deleted data that remain in PostgreSQL's own files, as docs/how-to/deploy.md says."""

import os
import re
from collections import Counter
from contextlib import closing

import psycopg
import pytest

from experiment.study.definition import Study
from server.store import Identity
from server.store.postgres.store import PostgresStore
from tests.paths import ROOT
from tests.postgres import PostgresCluster
from tests.server.stores import Person, address

pytestmark = pytest.mark.skipif(os.name != "posix", reason="PostgreSQL's own server is started on POSIX systems only")

PANEL_ID = "panel-id-to-forget"


def found(cluster: PostgresCluster, *texts: str) -> Counter[str]:
    """Return how often any of the texts occurs in the cluster's files, by the kind of file."""
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as db:
        db.execute("CHECKPOINT")
    data = cluster.folder / "data"
    counts: Counter[str] = Counter()
    for path in data.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            counts[path.relative_to(data).parts[0]] += sum(content.count(text.encode()) for text in texts)
    return +counts


def documented_statements() -> list[list[str]]:
    """Return the guide's statements: those for the tables, and those for the write-ahead log."""
    guide = (ROOT / "docs" / "how-to" / "deploy.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sql\n(.*?)```", guide, flags=re.DOTALL)
    return [[statement.strip() for statement in block.split(";") if statement.strip()] for block in blocks]


def test_deleted_responses_and_ids_stay_in_the_files_until_the_documented_statements_are_run(
    postgres: PostgresCluster, small_study: Study
) -> None:
    del postgres
    with PostgresCluster() as cluster, closing(PostgresStore(cluster.new_database())) as store:
        store.register_study(small_study)
        others = [Person(store, small_study, identity=Identity("panel", f"other-{number}")) for number in range(20)]
        person = Person(store, small_study, identity=Identity("panel", PANEL_ID))
        person.answer(2)
        for other in others:
            other.answer_all()
        texts = (*(answer.response_id for answer in person.sent), PANEL_ID)
        assert set(found(cluster, *texts)) == {"base", "pg_wal"}

        person.withdraw()
        assert store.delete_identities(small_study, person.stored.session.participant.participant) == 1
        assert set(found(cluster, *texts)) == {"base", "pg_wal"}  # The row is deleted, but its bytes are present.

        with psycopg.connect(address(store), autocommit=True) as db:
            db.execute("VACUUM")
            assert found(cluster, *texts)["base"]  # This alone is not enough.

            for_tables, for_log = documented_statements()
            for statement in for_tables:
                db.execute(statement.encode())
            assert set(found(cluster, *texts)) == {"pg_wal"}
            (times,) = db.execute("SELECT count(*) + 2 FROM pg_ls_waldir()").fetchone() or (0,)
            for statement in for_log * times:
                db.execute(statement.encode())
        assert found(cluster, *texts) == Counter()
        assert [other.now.n_answered for other in others] == [other.n_trials for other in others]

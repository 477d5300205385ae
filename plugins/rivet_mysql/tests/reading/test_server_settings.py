"""What a server is set to must not change what is read from it."""

from __future__ import annotations

import pytest

from rivet_core.facts import Tuning

pytestmark = pytest.mark.mysql


def test_rows_that_nobody_committed_are_not_read(mysql, read):
    mysql.execute("CREATE TABLE t(id int PRIMARY KEY, v int) ENGINE=InnoDB; INSERT INTO t SELECT seq, 1 FROM seq_1_to_1500")
    writer = mysql.connect()
    mysql.execute("SET GLOBAL tx_isolation = 'READ-UNCOMMITTED'", admin=True)
    try:
        writer.begin()
        with writer.cursor() as cursor:
            cursor.execute("UPDATE t SET v = 99")
            cursor.execute("INSERT INTO t VALUES (2000, 99)")
        tuning = Tuning(batch_rows=700, pause_share=0.0)
        for asked in ({"table": "t"}, {"query": "SELECT * FROM t"}):
            got = read(**asked, tuning=tuning)
            assert got.table.num_rows == 1500
            assert set(got.column("v")) == {1}
    finally:
        mysql.execute("SET GLOBAL tx_isolation = 'REPEATABLE-READ'", admin=True)
        writer.rollback()
        writer.close()

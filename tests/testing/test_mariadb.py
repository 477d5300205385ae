from __future__ import annotations

from contextlib import closing

import pymysql
import pytest

pytestmark = pytest.mark.mysql


def connect(database, **changes):
    options = {
        "host": database.host,
        "port": database.port,
        "user": database.user,
        "password": database.password,
        "database": database.name,
    }
    return closing(pymysql.connect(**{**options, **changes}))


def test_a_database_is_fresh_and_the_account_an_ordinary_one(mysql):
    mysql.execute("CREATE TABLE t (id int primary key, s text); INSERT INTO t VALUES (1, 'ż🌍'), (2, NULL)")
    assert mysql.execute("SELECT s, @@character_set_server FROM t ORDER BY id") == [("ż🌍", "utf8mb4"), (None, "utf8mb4")]
    assert mysql.execute("SELECT substring_index(current_user(), '@', 1)") == [("rivet",)]
    with pytest.raises(pymysql.err.OperationalError, match="denied"):
        mysql.execute("SELECT * FROM mysql.global_priv")
    assert mysql.execute("SELECT count(*) > 0 FROM mysql.global_priv", admin=True) == [(1,)]


def test_the_next_database_knows_nothing_of_the_last(mysql):
    assert mysql.execute("SHOW TABLES") == []


@pytest.mark.parametrize("changes", [{"password": "wrong"}, {"user": "root", "password": ""}, {"user": "", "password": ""}])
def test_a_wrong_password_is_refused(mysql, changes):
    with pytest.raises(pymysql.err.OperationalError, match="Access denied"), connect(mysql, **changes):
        pass


def test_the_log_holds_what_clients_of_this_database_sent(mysql, mysql_server):
    log = mysql.log.mark()
    with connect(mysql) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.execute("SELECT\n\t2")
    with connect(mysql_server.admin()) as elsewhere, elsewhere.cursor() as cursor:
        cursor.execute("SELECT 3")
    mysql.execute("SELECT 4")
    assert [text for text in log.statements() if text.startswith("SELECT")] == ["SELECT 1", "SELECT\n\t2"]


def test_a_restart_keeps_the_data(mysql):
    mysql.execute("CREATE TABLE kept AS SELECT 7 AS x")
    mysql.restart()
    assert mysql.execute("SELECT x FROM kept") == [(7,)]


def test_a_stopped_server_refuses(mysql):
    mysql.stop()
    with pytest.raises(pymysql.err.OperationalError), connect(mysql):
        pass


def test_the_server_runs_again_for_the_next_test(mysql):
    assert mysql.execute("SELECT version() LIKE '%MariaDB%'") == [(1,)]

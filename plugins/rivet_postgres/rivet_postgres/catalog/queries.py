"""The catalog statements. Each takes names or oids as arrays, so that their number does not grow with the tables.

They read catalogs and statistics only, take no lock on a user's table but `SIZES` (which leaves out what is exclusively
locked), and run under their own timeouts. Written for PostgreSQL 12 and later, from its documentation of the catalogs.

`pg_stats` is a security barrier: only conditions on constants reach its indexes, a join does not. So few relations are
named once more as a constant, or one table of a large database would cost a scan of all statistics.
"""

from __future__ import annotations

FEW = 500
"""Up to so many relations, their statistics are looked up; for more, all statistics are read once."""
_NAMED = " AND s.tablename = ANY (%(relations)s::name[])"

SETTINGS = """
SELECT count(set_config(s.name, s.value, true)) FROM (VALUES ('statement_timeout', %(statement)s),
  ('lock_timeout', %(lock)s), ('timezone', 'UTC'), ('datestyle', 'ISO'), ('array_nulls', 'on'),
  ('quote_all_identifiers', 'off'), ('application_name', %(application)s))
  AS s(name, value)"""

RESOLVE = """
SELECT a.place, c.oid, n.nspname, c.relname, c.relkind::text AS relkind
FROM unnest(%(schemas)s::text[], %(names)s::text[]) WITH ORDINALITY AS a(schema, name, place)
JOIN pg_catalog.pg_class c ON c.relname = a.name
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND CASE WHEN a.schema <> '' THEN n.nspname = a.schema ELSE n.nspname = ANY (current_schemas(false)) END
ORDER BY a.place, array_position(current_schemas(false), n.nspname)"""

EVERYTHING = """
SELECT row_number() OVER (ORDER BY n.nspname, c.relname) AS place, c.oid, n.nspname, c.relname, c.relkind::text AS relkind
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND c.relpersistence <> 't'
  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                  WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY 1"""

NEAREST = """
SELECT n.nspname, c.relname
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_(toast|temp)' AND n.nspname <> 'information_schema'
  AND (lower(c.relname) = ANY (%(lowered)s::text[]) OR left(lower(c.relname), 3) = ANY (%(starts)s::text[]))
ORDER BY 1, 2 LIMIT 2000"""

RELATIONS = """
WITH RECURSIVE tree AS (
  SELECT o.oid AS root, o.oid, 0 AS depth FROM unnest(%(oids)s::oid[]) AS o(oid)
  UNION ALL
  SELECT t.root, i.inhrelid, t.depth + 1
  FROM tree t JOIN pg_catalog.pg_class p ON p.oid = t.oid JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid
  WHERE p.relkind = 'p'
)
SELECT t.root, t.depth, c.oid, n.nspname, c.relname, c.relkind::text AS relkind,
  c.reltuples::float8 AS reltuples, c.relpages::int8 AS relpages, current_setting('block_size')::int AS block_size,
  o.relpages::int8 AS toast_pages,
  pg_stat_get_live_tuples(c.oid) AS live, pg_stat_get_dead_tuples(c.oid) AS dead,
  pg_stat_get_tuples_inserted(c.oid) AS inserted, pg_stat_get_tuples_updated(c.oid) AS updated,
  pg_stat_get_tuples_deleted(c.oid) AS deleted, pg_stat_get_mod_since_analyze(c.oid) AS changed,
  GREATEST(pg_stat_get_last_analyze_time(c.oid), pg_stat_get_last_autoanalyze_time(c.oid)) AS analyzed_at,
  GREATEST(pg_stat_get_last_vacuum_time(c.oid), pg_stat_get_last_autovacuum_time(c.oid)) AS vacuumed_at,
  has_schema_privilege(n.oid, 'USAGE') AS schema_usage, has_table_privilege(c.oid, 'SELECT') AS readable,
  has_any_column_privilege(c.oid, 'SELECT') AS some_columns,
  c.relispopulated AS populated, row_security_active(c.oid) AS row_security,
  (SELECT count(*) FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid) AS children,
  EXISTS (SELECT FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class k ON k.oid = i.inhrelid
          JOIN pg_catalog.pg_namespace s ON s.oid = k.relnamespace
          WHERE i.inhparent = c.oid AND s.nspname = '_timescaledb_internal') AS hypertable
FROM tree t
JOIN pg_catalog.pg_class c ON c.oid = t.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_class o ON o.oid = c.reltoastrelid"""

COLUMNS = """
WITH locked AS MATERIALIZED (
  SELECT DISTINCT l.relation FROM pg_catalog.pg_locks l
  WHERE l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock' AND l.pid <> pg_backend_pid()
)
SELECT a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod, a.attndims, a.attnotnull,
  format_type(a.atttypid, a.atttypmod) AS source_type, a.attidentity::text AS identity, a.attgenerated::text AS generated,
  CASE WHEN %(defaults)s AND a.attrelid NOT IN (SELECT relation FROM locked)
    THEN pg_get_expr(d.adbin, d.adrelid) END AS default_text,
  d.adbin IS NOT NULL AS has_default, coalesce(d.adbin::text LIKE '%%:funcid 480 %%', false) AS from_sequence,
  coalesce(l.collname, '') AS collation_name, e.description AS comment,
  o.readable OR has_column_privilege(c.oid, a.attnum, 'SELECT') AS readable,
  s.null_frac::float8 AS null_frac, s.avg_width, s.n_distinct::float8 AS n_distinct, s.correlation::float8 AS correlation
FROM (SELECT u.oid, has_table_privilege(u.oid, 'SELECT') AS readable FROM unnest(%(oids)s::oid[]) AS u(oid) OFFSET 0) AS o
JOIN pg_catalog.pg_class c ON c.oid = o.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
LEFT JOIN pg_catalog.pg_description e
  ON e.objoid = c.oid AND e.classoid = 'pg_catalog.pg_class'::regclass AND e.objsubid = a.attnum
LEFT JOIN pg_catalog.pg_stats s ON s.schemaname = n.nspname AND s.tablename = c.relname AND s.attname = a.attname
  AND s.inherited = (c.relkind = 'p'){named}
ORDER BY a.attrelid, a.attnum"""

TYPES = """
WITH RECURSIVE used AS (
  SELECT o.oid FROM unnest(%(oids)s::oid[]) AS o(oid)
  UNION
  SELECT x.oid FROM used u JOIN pg_catalog.pg_type t ON t.oid = u.oid,
    LATERAL (VALUES (t.typbasetype), (CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END)) AS x(oid)
  WHERE x.oid <> 0
)
SELECT t.oid, t.typname, n.nspname, t.typtype::text AS typtype, t.typcategory::text AS typcategory, t.typelem, t.typbasetype,
  t.typtypmod, t.typndims, t.typdelim::text AS typdelim, format_type(t.oid, NULL) AS text
FROM used u JOIN pg_catalog.pg_type t ON t.oid = u.oid JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace"""

INDEXES = """
SELECT i.indrelid, x.relname, i.indisunique, i.indisprimary, i.indisvalid AND i.indisready AND i.indislive AS valid,
  i.indpred IS NOT NULL AS partial, i.indnkeyatts, i.indkey::int2[] AS keys, m.amname,
  x.relpages::int8 * current_setting('block_size')::int AS size_bytes,
  p.opcdefault AS plain_order, i.indcollation[0] = coalesce(a.attcollation, i.indcollation[0]) AS own_collation
FROM unnest(%(oids)s::oid[]) AS o(oid)
JOIN pg_catalog.pg_index i ON i.indrelid = o.oid
JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = x.relam
JOIN pg_catalog.pg_opclass p ON p.oid = i.indclass[0]
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
ORDER BY i.indrelid, NOT i.indisprimary, x.relname"""

SIZES = """
SELECT c.oid, pg_relation_size(c.oid) AS heap, coalesce(pg_relation_size(nullif(c.reltoastrelid, 0)), 0) AS toast
FROM unnest(%(oids)s::oid[]) AS o(oid)
JOIN pg_catalog.pg_class c ON c.oid = o.oid
WHERE c.relkind IN ('r', 'm') AND NOT EXISTS (
  SELECT FROM pg_catalog.pg_locks l
  WHERE l.locktype = 'relation' AND l.relation IN (c.oid, c.reltoastrelid) AND l.mode = 'AccessExclusiveLock'
    AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database()))"""

SERVER = """
WITH RECURSIVE waiting AS MATERIALIZED (
  SELECT w.pid, pg_blocking_pids(w.pid) AS behind FROM (SELECT DISTINCT pid FROM pg_catalog.pg_locks WHERE NOT granted) w
), ours(pid) AS (
  SELECT pid FROM pg_catalog.pg_stat_activity WHERE application_name LIKE 'rivet/%'
  UNION SELECT w.pid FROM waiting w JOIN ours o ON o.pid = ANY (w.behind)
)
SELECT pg_is_in_recovery() AS standby, clock_timestamp() AS now, current_setting('server_version') AS version,
  pg_backend_pid() AS pid, pg_has_role('pg_read_all_stats', 'USAGE') AS sees_sessions,
  CASE WHEN pg_is_in_recovery() THEN
    CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
           AND EXISTS (SELECT FROM pg_catalog.pg_stat_wal_receiver) THEN 0
         ELSE EXTRACT(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8 END END AS lag_seconds,
  current_setting('hot_standby_feedback') = 'on' AS feedback, current_setting('track_counts') = 'on' AS counts,
  (SELECT setting::float8 FROM pg_catalog.pg_settings WHERE name = 'max_standby_streaming_delay') AS delay_ms,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
    - coalesce(nullif(current_setting('reserved_connections', true), '')::int, 0) AS max_connections,
  (SELECT sum(numbackends)::int FROM pg_catalog.pg_stat_database) AS used_connections,
  (SELECT nullif(r.rolconnlimit, -1) FROM pg_catalog.pg_roles r
   WHERE r.rolname = session_user AND NOT r.rolsuper) AS role_limit,
  (SELECT count(*)::int FROM pg_catalog.pg_stat_activity b JOIN pg_catalog.pg_roles r ON r.oid = b.usesysid
   WHERE r.rolname = session_user) AS role_used,
  (SELECT nullif(b.datconnlimit, -1) FROM pg_catalog.pg_database b, pg_catalog.pg_roles r
   WHERE b.datname = current_database() AND r.rolname = session_user AND NOT r.rolsuper) AS database_limit,
  d.numbackends AS database_used,
  (SELECT count(*) FROM pg_catalog.pg_stat_activity
   WHERE backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid()) AS active,
  (SELECT max(EXTRACT(epoch FROM clock_timestamp() - xact_start))::float8 FROM pg_catalog.pg_stat_activity
   WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()) AS oldest_seconds,
  (SELECT count(*) FROM waiting w WHERE w.pid NOT IN (SELECT o.pid FROM ours o)) AS lock_waits,
  d.stats_reset, k.confl_snapshot + k.confl_lock + k.confl_bufferpin + k.confl_deadlock + k.confl_tablespace AS conflicts
FROM pg_catalog.pg_stat_database d LEFT JOIN pg_catalog.pg_stat_database_conflicts k ON k.datid = d.datid
WHERE d.datname = current_database()"""

DESCRIBE = """
SELECT w.place, n.nspname, c.relname, c.relkind::text AS relkind, a.attname, a.attnum, a.atttypid, a.atttypmod, a.attndims,
  a.attnotnull, format_type(a.atttypid, a.atttypmod) AS source_type, e.description AS comment,
  EXISTS (SELECT FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class k ON k.oid = i.inhrelid
          JOIN pg_catalog.pg_namespace s ON s.oid = k.relnamespace
          WHERE i.inhparent = c.oid AND s.nspname = '_timescaledb_internal') AS hypertable,
  (SELECT string_agg(CASE WHEN x.indisprimary THEN 'primary ' ELSE 'other ' END
                       || array_to_string((x.indkey::int2[])[0:x.indnkeyatts - 1], ' '), ','
                     ORDER BY NOT x.indisprimary, x.indexrelid)
   FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class y ON y.oid = x.indexrelid JOIN pg_catalog.pg_am m ON m.oid = y.relam
   WHERE x.indrelid = c.oid AND c.relkind IN ('r', 'p') AND m.amname = 'btree' AND x.indisunique AND x.indisvalid
     AND x.indisready AND x.indimmediate AND x.indpred IS NULL AND x.indexprs IS NULL AND 0 = ALL (x.indoption::int2[])
     AND NOT EXISTS (SELECT FROM generate_series(0, x.indnkeyatts - 1) AS p(place)
                     JOIN pg_catalog.pg_attribute k ON k.attrelid = c.oid AND k.attnum = x.indkey[p.place]
                     JOIN pg_catalog.pg_opclass o ON o.oid = x.indclass[p.place]
                     WHERE NOT k.attnotnull OR NOT o.opcdefault OR k.attcollation <> x.indcollation[p.place]
                       OR NOT has_column_privilege(k.attrelid, k.attnum, 'SELECT'))) AS unique_keys
FROM unnest(%(schemas)s::text[], %(names)s::text[]) WITH ORDINALITY AS w(schema, name, place)
CROSS JOIN LATERAL (
  SELECT k.oid FROM pg_catalog.pg_class k JOIN pg_catalog.pg_namespace s ON s.oid = k.relnamespace
  WHERE k.relname = w.name AND k.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND CASE WHEN w.schema <> '' THEN s.nspname = w.schema ELSE s.nspname = ANY (current_schemas(false)) END
  ORDER BY array_position(current_schemas(false), s.nspname) LIMIT 1) AS found
JOIN pg_catalog.pg_class c ON c.oid = found.oid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_catalog.pg_description e
  ON e.objoid = c.oid AND e.classoid = 'pg_catalog.pg_class'::regclass AND e.objsubid = a.attnum
ORDER BY w.place, a.attnum"""
"""A table without columns has one row, with NULL for the column."""

BOUNDS = """
SELECT DISTINCT ON (s.schemaname, s.tablename, s.attname) s.schemaname, s.tablename, s.attname,
  s.histogram_bounds::text::text[] AS bounds, s.most_common_vals::text::text[] AS common
FROM unnest(%(schemas)s::text[], %(tables)s::text[], %(columns)s::text[]) AS a(schema, name, attribute)
JOIN pg_catalog.pg_stats s ON s.schemaname = a.schema AND s.tablename = a.name AND s.attname = a.attribute{named}
ORDER BY s.schemaname, s.tablename, s.attname, s.inherited DESC"""

PAGES = """
SELECT n.nspname, c.relname, c.relpages::int8 * current_setting('block_size')::int AS bytes
FROM unnest(%(schemas)s::text[], %(names)s::text[]) AS a(schema, name)
JOIN pg_catalog.pg_namespace n ON n.nspname = a.schema
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = a.name"""


def with_statistics(sql: str, relations: int) -> str:
    """Return `COLUMNS` or `BOUNDS` for so many relations; their names are the parameter `relations`."""
    return sql.replace("{named}", _NAMED if relations <= FEW else "")

"""The one versioned table of reason codes: what each means, what it is worth, and what helps (scoring section 6).

Rules, the fold, `rivet schema reasons` and the pages under `docs/reasons/` all read this table. A code is never reused; a
change of points or caps raises `TAXONOMY_VERSION`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rivet_core.facts import Dimension, Evidence, Reason, ReasonKind

TAXONOMY_VERSION = 1
CORE = "core"
"""The provider name of Rivet's own rules."""

BASE_RISK = 10
BASE_VALUE = 40
OVERRIDE_LIMIT = 40
"""How far `planning.rules` may set the points of a code, either way."""
PROVIDER_CAP = 10
"""How far one plugin may move a dimension."""
PLUGINS_CAP = 20
"""How far all plugins together may move a dimension: less than one class width."""

COST, RISK, VALUE = Dimension.COST, Dimension.RISK, Dimension.VALUE
BASE, MODIFIER, CORROBORATES = ReasonKind.BASE, ReasonKind.MODIFIER, ReasonKind.CORROBORATES
GATE, CLAMP, INFO = ReasonKind.GATE, ReasonKind.CLAMP, ReasonKind.INFO

CAPS: MappingProxyType[tuple[Dimension, str], tuple[int, int]] = MappingProxyType(
    {
        (COST, "shape"): (-10, 20),
        (COST, "pressure"): (0, 25),
        (COST, "extra"): (0, 10),
        (COST, "unfinished"): (0, 100),
        (RISK, "cursor"): (-5, 40),
        (RISK, "mutability"): (0, 30),
        (RISK, "history"): (0, 30),
        (RISK, "source"): (0, 30),
        (RISK, "config"): (0, 20),
        (VALUE, "freshness"): (-30, 40),
        (VALUE, "declared"): (-30, 40),
    }
)
"""Lowest and highest sum of points that a family of core reasons may add to its dimension."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table. `points` is the default, `formula` how it is computed when it is not a constant.

    `also` is a second place for the few codes that count in two dimensions: `(dimension, family, points)`. `scope` is
    `export` or `campaign`.
    """

    code: str
    title: str
    kind: ReasonKind
    dimension: Dimension | None
    family: str
    points: int
    trigger: str
    says: str
    remedy: str = ""
    formula: str = ""
    also: tuple[Dimension, str, int] | None = None
    scope: str = "export"


_E = Entry
_ENTRIES: tuple[Entry, ...] = (
    _E("RV001", "Neutral risk", BASE, RISK, "neutral", BASE_RISK, "always", "neutral risk"),
    _E("RV002", "Neutral value", BASE, VALUE, "neutral", BASE_VALUE, "always", "neutral value"),
    _E("RV101", "Work by run history", BASE, COST, "size", 0, "3 or more successful runs of the same mode and fingerprint",
       "last n runs took p50 (p10-p90), scaled to today's size", formula="curve(p50 seconds x 10 MiB/s)"),
    _E("RV102", "Work by table size", BASE, COST, "size", 0, "bytes known",
       "bytes to read, source, age", "refresh the statistics", formula="curve(bytes)"),
    _E("RV103", "Work by row count", BASE, COST, "size", 0, "only rows known",
       "rows at a known or assumed width", "give statistics of the width", formula="curve(rows x width)"),
    _E("RV104", "Wide rows", MODIFIER, COST, "shape", 6, "average width over 4 kB, or out-of-line bytes exceed the heap",
       "rows are wide, share out of line", "leave out large columns"),
    _E("RV105", "Work by expected delta", BASE, COST, "size", 0, "incremental or time-window mode with a known delta",
       "only the delta since the last run", formula="curve(delta bytes)"),
    _E("RV106", "Partitioned table", INFO, None, "size", 0, "the table is a partitioned parent",
       "n partitions, the largest", "export by partition"),
    _E("RV107", "Work by query plan", BASE, COST, "size", 0, "query export with an EXPLAIN",
       "work the plan scans, not the rows it returns", formula="curve(scanned bytes)"),
    _E("RV109", "A second size signal", CORROBORATES, COST, "size", 0, "a second signal of the size is known",
       "agrees within a factor", "when the factor is over 3, see RV803"),
    _E("RV110", "Small", INFO, None, "size", 0, "under 64 MiB and under 100,000 rows", "cheap to take early"),
    _E("RV111", "A better way to read", INFO, None, "size", 0, "a better mode, cursor, chunk key or profile exists",
       "the suggestion and why", "use the suggestion"),
    _E("RV201", "No index for the range", MODIFIER, COST, "pressure", 15, "no usable index leads with the range column",
       "every part scans the table", "create an index on the column"),
    _E("RV202", "Sparse key range", MODIFIER, COST, "shape", 12, "key density under 10 % over more than 10 equal windows",
       "most windows would be empty", "keyset or percentile units"),
    _E("RV203", "Sort expected to spill", MODIFIER, COST, "pressure", 8, "the order cannot come from an index",
       "the server sorts more than its memory holds", "a composite index"),
    _E("RV204", "Dead rows", MODIFIER, COST, "shape", 5, "over 30 % dead rows", "dead rows to step over", "VACUUM"),
    _E("RV205", "Scattered rows", MODIFIER, COST, "shape", 4, "range read with a correlation under 0.2 either way",
       "random reads", "chunk by the primary key or ctid"),
    _E("RV206", "Many units", MODIFIER, COST, "shape", 3, "more than 8 units", "n units: a longer hold on the source",
       "larger units, fewer workers"),
    _E("RV301", "Strong cursor", MODIFIER, RISK, "cursor", -5, "the cursor is strong_monotonic", "grows, unique, indexed"),
    _E("RV302", "Cursor not unique", MODIFIER, RISK, "cursor", 8, "the cursor is not unique",
       "rows can share one value", "a pair cursor or a lookback"),
    _E("RV303", "Cursor can be NULL", MODIFIER, RISK, "cursor", 12, "the cursor is nullable and not known to be filled",
       "share that a plain bound never picks up", "coalesce, or null_cursor", formula="12; 6 when the share is unknown"),
    _E("RV304", "Cursor leads no index", MODIFIER, RISK, "cursor", 10, "the cursor is first in no valid index",
       "not first in any valid index", "create an index on the column"),
    _E("RV305", "Coarse cursor", MODIFIER, RISK, "cursor", 6, "a date, whole seconds, or few distinct values",
       "ties at the edge are likely", "finer precision, or a lookback"),
    _E("RV306", "Application-set time", MODIFIER, RISK, "cursor", 8, "a time column that the application sets",
       "late commits can land behind the cursor", "a lookback"),
    _E("RV307", "No cursor candidate", MODIFIER, RISK, "cursor", 15, "no column can mark progress",
       "every run is full", "add an indexed updated_at"),
    _E("RV308", "Random key", MODIFIER, RISK, "cursor", 4, "the cursor is a random key (uuid v4, hash)",
       "not ordered by time", "uuid v7, or a time column"),
    _E("RV309", "Ambiguous cursor", MODIFIER, RISK, "cursor", 6, "COALESCE, or several candidates and none declared",
       "which column marks progress is ambiguous", "declare one"),
    _E("RV310", "Time window", INFO, None, "cursor", 0, "time-window mode",
       "bounded by time; ordering weighs freshness against cost"),
    _E("RV401", "Rows are updated", MODIFIER, RISK, "mutability", 25, "updates exceed 5 % of the rows per day",
       "share that changes per day", "a cursor that moves with updates", formula="min(25, 100 x share per day)"),
    _E("RV402", "Rows are deleted", MODIFIER, RISK, "mutability", 15, "deletes seen while the mode only appends",
       "deletes will not be seen", "soft deletes, full mode, or reconcile"),
    _E("RV403", "The cursor itself is updated", MODIFIER, RISK, "mutability", 5, "updates move the cursor column",
       "rows move while they are read", "a snapshot read (snapshot: consistent)"),
    _E("RV404", "Columns changed", MODIFIER, RISK, "config", 10, "the columns differ from those of the last run",
       "the difference", "review the types"),
    _E("RV501", "Age against the target", MODIFIER, VALUE, "freshness", 0, "a freshness target is declared",
       "age and target", formula="20 x (age / target - 1), within -20..40"),
    _E("RV502", "Nothing changed", MODIFIER, VALUE, "freshness", -20, "no writes since the last success",
       "no writes since", "skip this run"),
    _E("RV503", "Consumers wait", MODIFIER, VALUE, "declared", 4, "consumers are declared", "who waits",
       formula="4 for each, at most 16"),
    _E("RV504", "Deadline", MODIFIER, VALUE, "declared", 20, "a deadline lies inside the planning window",
       "must land by t, latest start t2"),
    _E("RV505", "Narrow time window", MODIFIER, VALUE, "freshness", 6, "a time window of at most 7 days",
       "the fresh end of the table"),
    _E("RV510", "Declared tier", MODIFIER, VALUE, "declared", 30, "a tier is declared", "declared by config",
       formula="low -20, normal 0, high 30"),
    _E("RV601", "Retries", MODIFIER, RISK, "history", 8, "over 0.3 retries a run, over 3 or more runs",
       "retries and their class", "see the error class"),
    _E("RV602", "Run times vary", MODIFIER, RISK, "history", 5, "p90 of the run time over 3 x its p10",
       "run times vary", "look for competing load"),
    _E("RV603", "Failed lately", MODIFIER, RISK, "history", 15, "a failed run in the history", "when and why it failed",
       "fix this first", formula="floor(15 x 2^-successes since x 30 / (30 + days))"),
    _E("RV604", "Never finished", MODIFIER, COST, "unfinished", 0, "attempts, but no success", "the longest try",
       "split it, or resume", formula="max(0, curve(longest try) - base)"),
    _E("RV605", "Slower than its size", MODIFIER, RISK, "history", 5, "run time over 2 x what the size explains",
       "seconds per GiB against the reference", "check index, network and locks"),
    _E("RV606", "Reconcile required", MODIFIER, RISK, "config", 5, "reconcile_required is set",
       "a second read of the source follows", also=(COST, "extra", 5)),
    _E("RV607", "Fails often", MODIFIER, RISK, "history", 8, "success rate under 0.8 over 5 or more runs",
       "n of m failed, main class", "see the error class"),
    _E("RV701", "Heavy exports share a group", INFO, None, "group", 0, "2 or more heavy exports in one group",
       "n heavy share the group; h may run at a time", "another replica, or more heavy slots", scope="campaign"),
    _E("RV702", "The group is the bottleneck", INFO, None, "group", 0, "the group sets the lower bound",
       "the group alone needs t; more workers will not help", "see the what-ifs", scope="campaign"),
    _E("RV703", "One export is the bound", INFO, None, "group", 0, "one export sets the lower bound",
       "nothing can finish sooner than its time", "split it into n by key", scope="campaign"),
    _E("RV704", "Reads go to a primary", MODIFIER, RISK, "source", 10, "the source is a primary",
       "reads go to a primary with n active sessions", "read from a replica"),
    _E("RV705", "Standby may cancel reads", MODIFIER, RISK, "source", 15, "a standby without feedback, a read beyond its delay",
       "feedback off, delay d, read lasts t", "hot_standby_feedback, or smaller units"),
    _E("RV706", "Replica lags", MODIFIER, VALUE, "freshness", -10, "the lag exceeds the freshness target",
       "behind by the lag", "wait, or another replica"),
    _E("RV707", "Cleanup is held back", MODIFIER, RISK, "source", 8, "a long open transaction or a purge backlog",
       "a long read would hold cleanup further", "smaller units"),
    _E("RV708", "Few connections left", MODIFIER, RISK, "source", 8, "the export alone needs more connections than are free",
       "n needed by this export alone, m free of max", "lower parallel"),
    _E("RV801", "Size unknown", BASE, COST, "size", 55, "no signal of the size",
       "treated as fairly large until measured", "grant or ANALYZE"),
    _E("RV802", "Statistics stale or missing", INFO, None, "trust", 0, "statistics are old, or were never taken",
       "age, share changed since", "ANALYZE"),
    _E("RV803", "Sources disagree", INFO, None, "trust", 0, "two sources of one figure differ by more than 3 x",
       "a says x, b says y, which was used", "measure once"),
    _E("RV804", "No permission for a signal", INFO, None, "trust", 0, "a signal needs a right the role lacks",
       "the exact GRANT", "GRANT"),
    _E("RV805", "Counters are local", INFO, None, "trust", 0, "activity counters of a standby", "ignored",
       "read them on the primary"),
    _E("RV806", "Thin history", INFO, None, "trust", 0, "history older than 30 days, or fewer than 3 runs", "n runs, age"),
    _E("RV890", "Plugin failed", INFO, None, "plugin", 0, "a third-party rule failed or broke its bounds",
       "what happened; its points are not used"),
    _E("RV891", "Cap", CLAMP, None, "cap", 0, "a sum of points passed its cap", "points used of points asked",
       formula="cap - sum, signed"),
    _E("RV901", "Declared not parallel safe", GATE, None, "gate", 0, "parallel_safe: false is declared",
       "runs alone among the exports so declared"),
    _E("RV902", "Parallel exceeds connections", INFO, None, "group", 0, "parallel x workers exceed the group's connections",
       "a x b > c", "lower one of them", scope="campaign"),
)  # fmt: skip

TAXONOMY: MappingProxyType[str, Entry] = MappingProxyType({entry.code: entry for entry in _ENTRIES})
"""Code -> row, in the order of the codes."""

SIZE_BASES = ("RV101", "RV107", "RV105", "RV102", "RV103", "RV801")
"""The hierarchy of work by kind of signal, the most telling first."""


def reason(
    code: str,
    message: str,
    *,
    points: int | None = None,
    evidence: Sequence[Evidence] = (),
    caveat: str = "",
    remedy: str = "",
    potential: int = 0,
    info: bool = False,
    second: bool = False,
) -> Reason:
    """Build a core reason: kind, dimension, family and default points come from the table.

    `info` lists the code without points, `second` uses the row's second dimension.
    """
    entry = TAXONOMY[code]
    kind, dimension, family, default = entry.kind, entry.dimension, entry.family, entry.points
    if second and entry.also is not None:
        dimension, family, default = entry.also
    if info:
        kind, dimension = INFO, None
    return Reason(
        code=code,
        kind=kind,
        message=message,
        dimension=dimension,
        family=family,
        points=0 if dimension is None else default if points is None else points,
        provider=CORE,
        evidence=evidence if type(evidence) is tuple else tuple(evidence),
        caveat=caveat,
        remedy=remedy,
        potential=potential,
    )


def schema_rows() -> list[dict[str, object]]:
    """Return the table as plain rows, for `rivet schema reasons`."""
    return [
        {
            "code": entry.code,
            "title": entry.title,
            "kind": str(entry.kind),
            "dimension": None if entry.dimension is None else str(entry.dimension),
            "family": entry.family,
            "points": entry.points,
            "formula": entry.formula,
            "also": None
            if entry.also is None
            else {"dimension": str(entry.also[0]), "family": entry.also[1], "points": entry.also[2]},
            "scope": entry.scope,
            "trigger": entry.trigger,
            "says": entry.says,
            "remedy": entry.remedy,
        }
        for entry in _ENTRIES
    ]

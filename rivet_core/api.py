"""What a plugin author builds: the records that hooks return, and the two things that do I/O.

Hooks take nothing and return records; records are frozen and hold plain functions or lazy references
(`"package.module:name"`), so that listing plugins imports none of them. A plugin needs only `rivet_core.api`,
`rivet_core.facts`, `rivet_core.errors`, `rivet_core.sql`, `rivet_core.stores` and `rivet_core.testing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from rivet_core.facts import CatalogFacts, InspectItem, Mark, ReadSpec, ServerFacts, TableFacts, Unit, UnitDigest

if TYPE_CHECKING:
    import pyarrow as pa
    from fsspec import AbstractFileSystem

API_VERSION = 1
"""The number in the entry-point group `rivet.v1`. It changes only when a record loses or re-types a field."""

PLUGIN_CODE = r"X-[A-Za-z0-9]+(?:[-_.][A-Za-z0-9]+)*-\d{1,4}"
"""What a reason code of a plugin looks like (`X-<vendor>-nnn`), for the whole code and ASCII only."""

Ref: TypeAlias = "str | Callable[..., Any] | type[Any]"
"""A function or class, or the text `"package.module:name"` that is imported on first use."""

HookT = TypeVar("HookT", bound=Callable[..., Any])


def hookimpl(function: HookT) -> HookT:
    """Mark `function` as the implementation of the hook of the same name.

    It sets the attribute that pluggy's own marker for the project `rivet` sets, without importing pluggy here.
    """
    function.rivet_impl = {}  # type: ignore[attr-defined]
    return function


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """A kind of source, chosen by `source.type`.

    `options` is a pydantic model (extra keys forbidden) of the keys under the source; `connect(options) -> SourceSession`
    opens it, with the model's instance, every reference resolved. `schemes` are the URL schemes that mean this source.
    """

    name: str
    summary: str
    options: Ref
    connect: Ref
    schemes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorClassifier:
    """`classify(TableFacts, CursorRef) -> CursorVerdict | None`; `None` when it has nothing to say."""

    name: str
    summary: str
    classify: Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringRule:
    """`score(ExportFacts, options) -> Sequence[Reason]`, pure. `options` is a pydantic model filled from `plugins.options`.

    `codes` are the reason codes it may return (`X-<vendor>-nnn` outside core), `dimension` the one it scores.
    """

    name: str
    summary: str
    codes: tuple[str, ...]
    score: Ref
    dimension: str | None = None
    options: Ref | None = None
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonEmitter:
    """`emit(CampaignFacts) -> Sequence[Reason]`, pure, every reason worth 0 points and placed by `group` and `exports`."""

    name: str
    summary: str
    codes: tuple[str, ...]
    emit: Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationSpec:
    """A kind of destination, chosen by `destination.type`. `open(options) -> Target`, references resolved."""

    name: str
    summary: str
    options: Ref
    open: Ref


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingPolicy:
    """Decides what starts next, by name (`--policy`).

    `order(jobs, capacities) -> Sequence[str]` puts all job names in one order; `next(PoolState) -> str | None` chooses among
    the heads that fit now, `None` to wait. Without `next` the first head is taken. `waves` says that a wave is a barrier.
    `front(jobs, capacities) -> Collection[str]` names the jobs that the policy lets pass all others; `next` finds them in
    `PoolState.front`, and the plan shows them. Core checks every answer: each job once, no capacity exceeded, never waiting
    while nothing runs.
    """

    name: str
    summary: str
    order: Ref
    next: Ref | None = None
    waves: bool = False
    front: Ref | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRenderer:
    """`render(plan: Mapping) -> str`, chosen by `rivet plan --format NAME`."""

    name: str
    summary: str
    media_type: str
    render: Ref


Record: TypeAlias = (
    "SourceSpec | CursorClassifier | ScoringRule | ReasonEmitter | DestinationSpec | SchedulingPolicy | PlanRenderer"
)


class RecordStream(Protocol):
    """The rows of one unit: a schema, batches bounded by bytes, and afterwards how far they reach.

    `marks` is valid after the last batch: the greatest cursor position delivered, one mark per cursor column, or `None` for
    no rows (or a unit that moves no cursor). Columns that only served the cursor are already stripped. A stream that ends
    early raises `SourceError`; it never looks finished. `counts` names values that a policy replaced, by `column: how`. A
    stream may have `notes`, a tuple of sentences about how the reading went (conflicts, smaller pages): they become warnings.
    """

    @property
    def schema(self) -> pa.Schema:
        """The schema of every batch."""
        ...

    @property
    def marks(self) -> tuple[Mark, ...] | None:
        """How far the cursor reached, after the last batch."""
        ...

    @property
    def counts(self) -> dict[str, int]:
        """Values replaced by a policy, `column: how` -> number."""
        ...

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...
    def close(self) -> None:
        """Stop, cancel the statement at the server and give the connection back. Closing twice is fine."""
        ...


class PageGate(Protocol):
    """Whether a source may be read on. A stream that reads in pages has an attribute `gate`, `None` until its reader sets it.

    Between two pages, with no statement running, it asks `is_clear`; when not, it gives its connection back and calls `wait`,
    which may take long (a lagging replica) and asks the source itself. What `wait` raises ends the read.
    """

    @property
    def is_clear(self) -> bool:
        """Whether the next page may begin at once."""
        ...

    def wait(self) -> None:
        """Return when the next page may begin."""
        ...


@runtime_checkable
class SourceSession(Protocol):
    """One open source. Reads only; usable from several threads; connections are pooled inside, at most `limit`.

    Errors are `SourceError` with a retry class; none of them shows a secret.
    """

    def limit(self, connections: int) -> None:
        """Never hold more than this many connections at once; idle ones above it are closed now, with 0 all of them."""
        ...

    def inspect(self, items: Sequence[InspectItem]) -> CatalogFacts:
        """Return the facts of all items at once, in a number of statements that does not grow with theirs."""
        ...

    def probe(self) -> ServerFacts:
        """Return the live role, lag, load and limits."""
        ...

    def units(self, spec: ReadSpec, committed: Sequence[Mark]) -> tuple[Unit, ...]:
        """Return what to read, given the cursor committed so far: tiles without gap or overlap, index 0..n-1.

        Raises `ConfigError` when the spec cannot be read this way (a cursor without order, a missing column).
        """
        ...

    def read(self, spec: ReadSpec, unit: Unit) -> RecordStream:
        """Start reading one unit. May be called from several threads at once."""
        ...

    def cancel(self) -> None:
        """Cancel every statement of this session at the server."""
        ...

    def close(self) -> None:
        """Close every connection. Closing twice is fine."""
        ...


@runtime_checkable
class ConsistentSession(Protocol):
    """A session that can hold one snapshot for all units of an export (`snapshot: consistent`)."""

    def end(self, export: str) -> None:
        """Let go of the snapshot that the units of `export` shared. Ending twice is fine."""
        ...


@runtime_checkable
class RecallingSession(Protocol):
    """A session that takes what an earlier inspection found, so that `units` need not look up each table again."""

    def recall(self, items: Sequence[InspectItem], tables: Mapping[str, TableFacts]) -> None:
        """Treat `tables`, by item name, as if this session had inspected `items` a moment ago."""
        ...


@runtime_checkable
class DigestingSession(Protocol):
    """A session that can say what the rows of a unit add up to, so that `rivet reconcile` can compare them with the files."""

    def digest(self, spec: ReadSpec, unit: Unit, columns: Sequence[str]) -> UnitDigest:
        """Return the digest of a unit's rows over these output columns, in this order, in one short statement where possible.

        `docs/reconcile.md` defines the text of each type; a column that has none here is left out and named. A source that
        cannot hash answers with `rivet_core.sql.canonical.digest_of` over what it reads.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCapabilities:
    """What a store guarantees, as data.

    `atomic_replace`: replacing a key is all or nothing for readers. `conditional_put`: a put can demand that the key is
    absent or unchanged. `list_after_write`: a listing shows what was just written. `local`: fsync and rename apply.
    `stream`: bytes go out as they come; nothing can be listed, read back or replaced.
    """

    atomic_replace: bool
    conditional_put: bool
    list_after_write: bool
    local: bool = False
    stream: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An open destination: an fsspec filesystem, the root inside it, and what the store guarantees.

    `url_prefix` turns a key below the root into what a reader opens: an absolute path, or a full URL.
    """

    filesystem: AbstractFileSystem
    root: str
    url_prefix: str
    capabilities: StoreCapabilities = field(
        default_factory=lambda: StoreCapabilities(atomic_replace=True, conditional_put=False, list_after_write=True)
    )

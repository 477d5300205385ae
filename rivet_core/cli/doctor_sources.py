"""What `rivet doctor` looks at in a source: reachable, rights, TLS, role and lag, pooler, free connections, clock."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rivet_core.errors import RivetError
from rivet_core.facts import ExportSpec, Role, ServerFacts
from rivet_core.facts.plural import several
from rivet_core.planning.finding import Finding, Severity
from rivet_core.plugins import faults_of, quietly

if TYPE_CHECKING:
    from rivet_core.config import CampaignConfig, GroupConfig, SourceConfig
    from rivet_core.planning.inspect import SourceView
    from rivet_core.plugins import Registry
    from rivet_core.sql.endpoint import Endpoint

CLOCK_TOLERANCE = timedelta(seconds=5)
"""Two clocks may differ by this much before ages and freshness become misleading."""
LONG_TRANSACTION = 600.0
"""Seconds from which somebody's open transaction is worth a word: rows it commits later can land behind a cursor."""
_TLS_PARAMETERS = ("sslmode", "ssl-mode", "ssl_mode", "ssl", "tls")


def examine_source(source: SourceConfig, config: CampaignConfig, registry: Registry) -> list[Finding]:
    """Open one source, look at what its exports name, and return what was found. Changes nothing there."""
    subject = f"source {source.name}"
    specs = [spec for spec in config.exports if spec.source == source.name]
    before = datetime.now(UTC)
    try:
        with faults_of(source.type):
            endpoint, chosen = _endpoint(source, config, registry)
            server, findings = _ask(source, specs, config, registry)
    except RivetError as error:
        return [Finding.of(error, subject)]
    after = datetime.now(UTC)
    role = "" if server.role is Role.UNKNOWN else f", {server.role}"
    reached = Finding(
        severity=Severity.OK,
        subject=subject,
        message="reachable",
        evidence=f"{server.engine} {server.version} at {server.address}{role}",
    )
    group = config.source_groups.get(source.source_group or server.address)
    return [
        reached,
        *findings,
        *judge_transport(subject, server, endpoint, chosen=chosen),
        *judge_server(subject, server, group),
        *judge_clock(subject, server, before, after),
    ]


def _endpoint(source: SourceConfig, config: CampaignConfig, registry: Registry) -> tuple[Endpoint | None, bool]:
    """Return where an SQL source is, and whether its config says anything about TLS; `None` for other kinds of source."""
    from rivet_core.options import validate_options
    from rivet_core.references import resolve
    from rivet_core.sql.options import SqlOptions

    options = resolve(dict(source.options), base=config.base)
    model = registry.resolve(registry.source(source.type).record.options)
    found = validate_options(model, options, base=config.base, what=f"source {source.name}")
    if not isinstance(found, SqlOptions):
        return None, False
    endpoint = found.endpoint()
    return endpoint, found.tls is not None or any(name in endpoint.parameters for name in _TLS_PARAMETERS)


def _ask(
    source: SourceConfig, specs: Sequence[ExportSpec], config: CampaignConfig, registry: Registry
) -> tuple[ServerFacts, list[Finding]]:
    from rivet_core.planning.inspect import inspect_sources

    if not specs:
        session = registry.open_source(source.type, source.options, base=config.base)
        try:
            unused = Finding(severity=Severity.INFO, subject=f"source {source.name}", message="no export reads from it")
            return session.probe(), [unused]
        finally:
            quietly(session.close)
    groups = config.source_groups
    view = inspect_sources({source.name: source}, specs, {}, registry, base=config.base, groups=groups)[source.name]
    if view.error is not None:
        raise view.error
    assert view.catalog is not None  # noqa: S101 - a view has either an error or a catalog
    return view.catalog.server, list(_rights(view, specs))


def _rights(view: SourceView, specs: Sequence[ExportSpec]) -> Iterable[Finding]:
    """What cannot be read, and which grants would tell more."""
    for spec in specs:
        error = view.failures.get(spec.name)
        if error is not None:
            yield Finding.of(error, f"export {spec.name}")
    if not view.failures:
        yield Finding(
            severity=Severity.OK,
            subject=f"source {view.config.name}",
            message=f"{'all ' if len(specs) > 1 else ''}{several(len(specs), 'export')} can be read",
        )
    tables = view.catalog.tables.values() if view.catalog else ()
    server = view.catalog.server.grants if view.catalog else ()
    for grant in dict.fromkeys([*server, *(grant for table in tables for grant in table.grants)]):
        yield Finding(
            severity=Severity.INFO,
            subject=f"source {view.config.name}",
            message="a right is missing that would tell the planner more",
            hint=grant,
        )


def judge_transport(subject: str, server: ServerFacts, endpoint: Endpoint | None, *, chosen: bool) -> list[Finding]:
    """Plaintext to another host is an error, unless the config chose it: then it is a warning."""
    if endpoint is None or endpoint.is_socket or is_this_machine(endpoint.host) or server.encrypted is None:
        return []
    if server.encrypted:
        verified = endpoint.tls.mode in ("verify-ca", "verify-full")
        return [
            Finding(
                severity=Severity.OK if verified else Severity.INFO,
                subject=subject,
                message="the connection is encrypted" + ("" if verified else ", but nobody checks who the server is"),
                hint="" if verified else "tls: {mode: verify-full}",
            )
        ]
    return [
        Finding(
            severity=Severity.WARNING if chosen else Severity.ERROR,
            subject=subject,
            message="passwords and rows travel in plain text to another host",
            evidence=endpoint.address,
            hint="tls: {mode: verify-full}" + ("" if chosen else "; tls: {mode: disable} says that it is meant"),
        )
    ]


def is_this_machine(host: str) -> bool:
    """Whether a host name or address is this machine's loopback."""
    if host.lower().rstrip(".") in ("localhost", "localhost.localdomain", "ip6-localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def judge_server(subject: str, server: ServerFacts, group: GroupConfig | None) -> list[Finding]:
    """Role, lag, replica settings, pooler, free connections, long transactions, and what the source itself notes."""
    findings = [Finding(severity=Severity.INFO, subject=subject, message=note) for note in server.notes]

    def warn(message: str, evidence: str, hint: str) -> None:
        findings.append(Finding(severity=Severity.WARNING, subject=subject, message=message, evidence=evidence, hint=hint))

    limit = group.max_lag_seconds if group is not None else 30.0
    if server.replica_lag_seconds is not None and server.replica_lag_seconds > limit:
        evidence = f"{server.replica_lag_seconds:.0f} s, limit {limit:.0f} s"
        warn("the replica lags: reads pause until it catches up", evidence, "look at the replica, or raise max_lag")
    delay = server.conflict_delay_seconds
    if server.role is Role.STANDBY and server.hot_standby_feedback is False and delay is not None and delay < 86400:
        warn(
            "the replica may cancel reads that conflict with what it replays",
            f"hot_standby_feedback off, max_standby_streaming_delay {delay:.0f} s",
            "keep pages short (tuning profile safe), or raise max_standby_streaming_delay",
        )
    if server.pooler:
        findings.append(
            Finding(
                severity=Severity.INFO,
                subject=subject,
                message=f"there is {server.pooler} in between",
                hint="the limits of the pooler count, and snapshot: consistent needs a session for itself",
            )
        )
    wanted = group.max_connections if group is not None and group.max_connections else 1
    if server.free_connections is not None and server.free_connections < wanted:
        evidence = f"{server.used_connections} of {server.max_connections} in use, {wanted} wanted"
        warn("there are fewer free connections than exports may use", evidence, "lower max_connections of the group")
    if (server.oldest_transaction_seconds or 0.0) > LONG_TRANSACTION:
        evidence = f"open for {server.oldest_transaction_seconds:.0f} s"
        warn("somebody holds a transaction open: rows it commits later can land behind a cursor", evidence, "set lookback")
    return findings


def judge_clock(subject: str, server: ServerFacts, before: datetime, after: datetime) -> list[Finding]:
    """Compare the server's clock with this machine's, the time of asking allowed for."""
    seen = server.observed_at
    if seen is None or before - CLOCK_TOLERANCE <= seen <= after + CLOCK_TOLERANCE:
        return []
    gap = (seen - after if seen > after else before - seen).total_seconds()
    return [
        Finding(
            severity=Severity.WARNING,
            subject=subject,
            message=f"its clock is {gap:.0f} s {'ahead of' if seen > after else 'behind'} this machine's",
            evidence=f"{seen:%Y-%m-%d %H:%M:%S}Z there, {after:%Y-%m-%d %H:%M:%S}Z here",
            hint="synchronize both: ages, freshness and time windows compare them",
        )
    ]

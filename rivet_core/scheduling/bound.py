"""The lower bound: how long a campaign must take at least, whatever the order, and which resource says so.

For a resource r with c_r units and work W_r = sum of demand times duration, no schedule ends before `W_r / c_r`, nor before
the longest job. Where every job takes one unit, a packing argument adds: among the `k c_r + 1` longest jobs one unit must
carry `k + 1` of them, so the sum of the `k + 1` smallest of those is a bound too (k = 1, 2, ...). Jobs that wait for each
other add the length of their longest chain. The greatest term wins; its resource is the *binding* one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rivet_core.facts import Capacities, Job
from rivet_core.scheduling.chains import longest_chain
from rivet_core.scheduling.loads import collect_loads
from rivet_core.scheduling.resources import CONNECTIONS, HEAVY, SERIAL, WORKERS, cap_workers, units_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What sets the bound. `kind` is `workers`, `connections`, `heavy`, `serial`, `longest` or `chain`.

    `name` is the group, or the export for `longest` and `chain` (the last of the chain), empty for `workers` and `serial`.
    """

    kind: str
    name: str
    explanation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One resource's share in the bound; all in seconds. `load` is work / units, `packing` the packing argument (0 = none)."""

    resource: str
    units: int
    load: float
    packing: float

    @property
    def seconds(self) -> float:
        """The bound that this resource alone gives."""
        return max(self.load, self.packing)


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerBound:
    """The bound, its binding resource and every term. `longest_seconds` belongs to the export `longest`."""

    seconds: float
    binding: Binding
    cap_workers: int
    longest: str
    longest_seconds: float
    terms: tuple[Term, ...]

    def load(self, resource: str) -> float:
        """Return work / units of `resource` in seconds, 0 when no job takes it."""
        return next((term.load for term in self.terms if term.resource == resource), 0.0)


def certificate(makespan_seconds: float, bound_seconds: float) -> float:
    """Return makespan / bound, the instance's own certificate: 1.0 is provably optimal. 1.0 when there is nothing to do."""
    return makespan_seconds / bound_seconds if bound_seconds > 0 else 1.0


def lower_bound(jobs: Sequence[Job], capacities: Capacities, seconds: Mapping[str, float] | None = None) -> LowerBound:
    """Return the lower bound of `jobs`; durations are the predicted ones, or those in `seconds` by name where given."""
    known = seconds or {}
    durations = [max(0.0, known.get(job.name, job.predicted_seconds)) for job in jobs]
    cap = cap_workers((job.group for job in jobs), capacities)
    terms = []
    for resource, work in collect_loads(jobs, durations, capacities).items():
        units = cap if resource == WORKERS else units_of(resource, capacities)
        terms.append(Term(resource=resource, units=units, load=work.total / units, packing=work.packing(units)))
    longest = max(range(len(jobs)), key=durations.__getitem__, default=None)
    longest_name, longest_seconds = ("", 0.0) if longest is None else (jobs[longest].name, durations[longest])
    chain_end, chain_seconds = longest_chain(jobs, durations)
    best = max(terms, key=lambda term: (term.seconds, _preference(term.resource)), default=None)
    bound = max(longest_seconds, chain_seconds, best.seconds if best else 0.0)
    if best is None:
        binding = Binding(kind=WORKERS, name="", explanation="there is nothing to run")
    elif longest_seconds >= bound:
        binding = Binding(kind="longest", name=longest_name, explanation=_explain_longest(longest_name, longest_seconds, best))
    elif best.seconds >= bound:
        binding = _bind(best, cap, capacities)
    else:
        text = f"the exports that wait for each other up to {chain_end} take {duration_text(chain_seconds)} one after the other"
        binding = Binding(kind="chain", name=chain_end, explanation=text)
    return LowerBound(
        seconds=bound,
        binding=binding,
        cap_workers=cap,
        longest=longest_name,
        longest_seconds=longest_seconds,
        terms=tuple(sorted(terms, key=lambda term: (-term.seconds, term.resource))),
    )


def duration_text(seconds: float) -> str:
    """Return seconds in words for people: `48 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def _preference(resource: str) -> int:
    """Among equal terms name the narrowest resource: raising a wider one alone would change nothing."""
    return 3 if resource == SERIAL else 2 if resource.startswith(HEAVY) else 1 if resource.startswith(CONNECTIONS) else 0


def _explain_longest(name: str, seconds: float, best: Term) -> str:
    text = f"{name} alone takes {duration_text(seconds)}; no number of workers ends sooner"
    return text if best.load >= seconds else f"{text}, the rest would need {duration_text(best.seconds)}"


def _bind(term: Term, cap: int, capacities: Capacities) -> Binding:
    kind, _, name = term.resource.partition(":")
    shape = f"{duration_text(term.seconds)} at least" if term.packing > term.load else duration_text(term.load)
    if kind == WORKERS and cap < capacities.workers:
        text = f"all source groups together allow {cap} connections at once: {shape} for {capacities.workers} workers"
        return Binding(kind="connections", name="", explanation=text)
    text = {
        "workers": f"{term.units} {_many(term.units, 'worker')} share all the work: {shape}",
        "connections": f"group {name} allows {term.units} {_many(term.units, 'connection')} at once: {shape} of reading",
        "heavy": f"group {name} allows {term.units} heavy {_many(term.units, 'export')} at once: {shape} of heavy work",
        "serial": f"exports with parallel_safe: false run one at a time: {shape}",
    }[kind]
    return Binding(kind=kind, name=name, explanation=text)


def _many(count: int, noun: str) -> str:
    return noun if count == 1 else noun + "s"

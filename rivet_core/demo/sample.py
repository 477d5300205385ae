"""Builds the demo shop: eleven tables of different sizes and cursor qualities, the same bytes on every machine.

No random numbers and no clock: every value is arithmetic on its row's number, every date counts from `BASE`.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

from rivet_core.errors import ConfigError

BASE = datetime(2026, 1, 5)  # noqa: DTZ001 - the shop writes naive times, as many do
"""When the shop's last row was written."""

CUSTOMERS, PRODUCTS, ORDERS, ITEMS, VIEWS, SESSIONS, AUDIT = 15_000, 2_000, 40_000, 120_000, 150_000, 20_000, 40_000

SCHEMA = """
CREATE TABLE countries (code TEXT PRIMARY KEY, name TEXT NOT NULL, vat_percent DECIMAL(4,1)) WITHOUT ROWID;
CREATE TABLE customers (
    id INTEGER PRIMARY KEY, email TEXT NOT NULL, name TEXT NOT NULL, country TEXT NOT NULL REFERENCES countries(code),
    newsletter BOOLEAN NOT NULL DEFAULT 0, updated_at DATETIME
);
CREATE TABLE products (
    id INTEGER PRIMARY KEY, sku TEXT NOT NULL UNIQUE, name TEXT NOT NULL, attributes JSON, picture BLOB, weight_kg REAL
);
CREATE TABLE prices (
    product_id INTEGER NOT NULL REFERENCES products(id), valid_from DATE NOT NULL, currency TEXT NOT NULL,
    cents INTEGER NOT NULL, PRIMARY KEY (product_id, valid_from, currency)
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY AUTOINCREMENT, customer_id INTEGER NOT NULL REFERENCES customers(id), status TEXT NOT NULL,
    total_cents INTEGER NOT NULL, created_at DATETIME NOT NULL, updated_at DATETIME NOT NULL
);
CREATE TABLE order_items (
    id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders(id), product_id INTEGER NOT NULL,
    quantity INTEGER NOT NULL, cents INTEGER NOT NULL, note TEXT
);
CREATE TABLE page_views (
    id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, url TEXT NOT NULL, referrer TEXT, milliseconds REAL,
    viewed_at DATETIME NOT NULL
);
CREATE TABLE sessions (id TEXT PRIMARY KEY, customer_id INTEGER, agent TEXT NOT NULL, started_at DATETIME NOT NULL);
CREATE TABLE audit_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at DATETIME NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, details JSON
);
CREATE TABLE settings (name TEXT, value TEXT);
CREATE TABLE wishlists (
    id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, product_id INTEGER NOT NULL, added_at DATETIME NOT NULL
);
"""

INDEXES = """
CREATE INDEX orders_updated_at ON orders (updated_at);
CREATE INDEX order_items_order_id ON order_items (order_id);
ANALYZE;
"""

COUNTRIES = (
    ("AT", "Austria", 20), ("BE", "Belgium", 21), ("CH", "Switzerland", 8.1), ("DE", "Germany", 19), ("DK", "Denmark", 25),
    ("ES", "Spain", 21), ("FI", "Finland", 25.5), ("FR", "France", 20), ("IT", "Italy", 22), ("NL", "Netherlands", 21),
    ("NO", "Norway", 25), ("PL", "Poland", 23), ("PT", "Portugal", 23), ("SE", "Sweden", 25),
)  # fmt: skip
SETTINGS = (("currency", "EUR"), ("theme", "winter"), ("theme", "winter"), ("free_shipping_from", "4900"), ("banner", None))
FIRST = ("Ada", "Björn", "Chloé", "Dmitri", "Elif", "Farah", "Goran", "Hana", "Ines", "Jürgen", "Kaja", "Luís")
LAST = ("Andersen", "Bauer", "Conti", "Dubois", "Eriksson", "Fernández", "Grau", "Hansen", "Ivanova", "Jansen", "Kowalska")
THINGS = ("lamp", "chair", "kettle", "blanket", "clock", "shelf", "mug", "mirror")
STATUSES = ("paid", "packed", "shipped", "delivered", "delivered", "delivered", "returned")
AGENTS = ("Firefox/140 (Linux)", "Safari/19 (iPhone)", "Chrome/143 (Windows)", "Chrome/143 (Android)")
ACTIONS = ("login", "price.change", "order.refund", "stock.count", "customer.merge")


@dataclass(frozen=True, slots=True)
class DemoShop:
    """Where the shop stands: its directory, the SQLite file and the config."""

    directory: Path
    database: Path
    config: Path


def config_text() -> str:
    """Return the config of the shop, comments and all."""
    return files(__package__).joinpath("shop.yaml").read_text(encoding="utf-8")


def build_shop(directory: Path) -> DemoShop:
    """Write the shop's database and config into `directory`, made when missing.

    A shop that was built there before is built anew, with its state and output, as long as nobody edited its config: a
    demo always starts from nothing. Raises `ConfigError` when anything else stands in the way.
    """
    shop = DemoShop(directory, directory / "shop.db", directory / "rivet.yaml")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        _make_room(shop)
        draft = directory / "shop.db.new"
        draft.unlink(missing_ok=True)
        _fill(draft)
        draft.replace(shop.database)
        shop.config.write_text(config_text(), encoding="utf-8", newline="\n")
    except OSError as error:
        raise ConfigError(
            f"cannot build the demo in {directory}: {error.strerror or error}", hint="name a directory you may write to"
        ) from None
    return shop


def _make_room(shop: DemoShop) -> None:
    if not shop.config.exists() and not shop.database.exists():
        return
    if not shop.config.is_file() or shop.config.read_text(encoding="utf-8", errors="replace") != config_text():
        raise ConfigError(
            f"{shop.directory} holds a config or database that the demo did not leave like this",
            hint="name another directory: rivet demo DIR",
        )
    for name in ("shop.db", "shop.db-journal", "shop.db-wal", "shop.db-shm"):
        (shop.directory / name).unlink(missing_ok=True)
    for name in (".rivet", "out"):
        shutil.rmtree(shop.directory / name, ignore_errors=True)


def _fill(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        # A draft: nobody else reads it, and after a crash it is made again.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.executescript(SCHEMA)
        connection.execute("BEGIN")
        for table, rows in _tables():
            first = next(rows, None)
            if first is not None:
                insert = f"INSERT INTO {table} VALUES ({', '.join('?' * len(first))})"  # noqa: S608 - names of this module
                connection.execute(insert, first)
                connection.executemany(insert, rows)
        connection.execute("COMMIT")
        connection.executescript(INDEXES)
    finally:
        connection.close()


def mix(number: int, salt: int) -> int:
    """Return a number that looks random, the same on every machine (a multiplicative hash, 32 bits)."""
    mixed = ((number + 1) * 2_654_435_761 + salt * 40_503) & 0xFFFF_FFFF
    return (mixed ^ (mixed >> 15)) * 2_246_822_519 & 0xFFFF_FFFF


def moment(before: timedelta) -> str:
    """Return the shop's way to write the time so long before `BASE`."""
    return str(BASE - before)


def session_id(number: int) -> str:
    """Return a uuid-like key."""
    a, b, c = mix(number, 1), mix(number, 2), mix(number, 3)
    return f"{a:08x}-{b >> 16:04x}-4{b & 0xFFF:03x}-a{c >> 20:03x}-{c & 0xFFFFF:05x}{number:07x}"


def _tables() -> Iterator[tuple[str, Iterator[tuple[Any, ...]]]]:
    yield "countries", iter(COUNTRIES)
    yield "customers", (_customer(n) for n in range(1, CUSTOMERS + 1))
    yield "products", (_product(n) for n in range(1, PRODUCTS + 1))
    yield "prices", _prices()
    yield "orders", (_order(n) for n in range(1, ORDERS + 1))
    yield "order_items", (item(n, (n - 1) * ORDERS // ITEMS + 1) for n in range(1, ITEMS + 1))
    keys = [session_id(n) for n in range(SESSIONS)]
    yield "page_views", (_view(n, keys[(n - 1) * SESSIONS // VIEWS]) for n in range(1, VIEWS + 1))
    yield "sessions", (_session(n, key) for n, key in enumerate(keys))
    yield "audit_log", (audit(n, moment(timedelta(minutes=5 * (AUDIT - n)))) for n in range(1, AUDIT + 1))
    yield "settings", iter(SETTINGS)


def _customer(n: int) -> tuple[Any, ...]:
    first, last = FIRST[mix(n, 4) % len(FIRST)], LAST[mix(n, 5) % len(LAST)]
    # Imported customers were never touched by the shop's own code: no updated_at.
    touched = None if n % 29 == 0 else moment(timedelta(minutes=mix(n, 6) % 500_000))
    return n, f"customer{n}@example.org", f"{first} {last}", COUNTRIES[mix(n, 7) % len(COUNTRIES)][0], n % 3 == 0, touched


def _product(n: int) -> tuple[Any, ...]:
    thing = THINGS[n % len(THINGS)]
    attributes = None if n % 11 == 0 else f'{{"colour": "{("red", "blue", "oak")[n % 3]}", "size": {n % 9}}}'
    return n, f"SKU-{n:05d}", f"{thing} no. {n}", attributes, bytes((n + i) % 256 for i in range(64)), (mix(n, 8) % 9000) / 1000


def _prices() -> Iterator[tuple[Any, ...]]:
    for n in range(1, PRODUCTS + 1):
        for quarter in range(6):
            day = (BASE - timedelta(days=90 * (6 - quarter))).date().isoformat()
            for currency, rate in (("EUR", 100), ("NOK", 1150)):
                yield n, day, currency, (500 + mix(n, quarter) % 20_000) * rate // 100


def _order(n: int) -> tuple[Any, ...]:
    created = timedelta(minutes=6 * (ORDERS - n) + 5)
    # Orders change for a while: updated_at is later than created_at and ties are common (a nightly job touches many).
    updated = min(created, timedelta(days=max(0, created.days - 1))) if n % 4 else created
    status = STATUSES[mix(n, 9) % len(STATUSES)]
    return n, mix(n, 10) % CUSTOMERS + 1, status, 990 + mix(n, 11) % 50_000, moment(created), moment(updated)


def item(n: int, order: int) -> tuple[Any, ...]:
    """Return row `n` of order_items, in `order`."""
    note = f"gift wrap, card no. {mix(n, 12) % 1000}" if n % 17 == 0 else None
    return n, order, mix(n, 13) % PRODUCTS + 1, mix(n, 14) % 4 + 1, 290 + mix(n, 15) % 9_000, note


def _view(n: int, session: str) -> tuple[Any, ...]:
    url = f"/p/{THINGS[mix(n, 16) % len(THINGS)]}/{mix(n, 17) % PRODUCTS + 1}"
    referrer = None if n % 3 else f"https://search.example/?q={THINGS[n % len(THINGS)]}"
    viewed = moment(timedelta(seconds=60 * (VIEWS - n)))
    return n, session, url, referrer, (mix(n, 18) % 90_000) / 100, viewed


def _session(n: int, key: str) -> tuple[Any, ...]:
    customer = mix(n, 19) % CUSTOMERS + 1 if n % 2 else None
    return key, customer, AGENTS[n % len(AGENTS)], moment(timedelta(minutes=7 * (SESSIONS - n)))


def audit(n: int, at: str) -> tuple[Any, ...]:
    """Return row `n` of audit_log, written at `at`."""
    action = ACTIONS[mix(n, 20) % len(ACTIONS)]
    return (
        n,
        at,
        f"clerk{mix(n, 21) % 12}",
        action,
        f'{{"ip": "10.0.{n % 200}.{mix(n, 22) % 250}", "ref": {mix(n, 23) % 99_999}}}',
    )

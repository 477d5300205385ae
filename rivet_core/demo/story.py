"""What happens in the shop between two runs, and how `rivet demo` tells it.

The story, in the order to show it:

1. *Plan.* Twelve exports of one file. `orders` leads: finance and churn wait for it, and what it needs (`customers`, and before
   it `countries`) is pulled forward with it. `order_items` and `page_views` are heavy and share the group `shop_db`, which lets
   one heavy export in at a time: the group warning says so, and the lower bound is what they need one after the other.
   `page_views` is tier low: last.
2. *Explain* `customers`. The interesting one: a time cursor that no index leads (the delta is found by a scan), that is NULL
   for imported rows (they are read in every run, never lost), and a declared consumer that wants it all the same. Beside it
   `audit_log` shows the best cursor there is, `sessions` and `settings` show none.
3. *Apply.* Every table lands as Parquet below `out/`, `wishlists` as an empty file with its columns. Then the files of
   `orders`.
4. *The day goes on*: `add_rows(shop)` writes new orders with their items, moves older orders on (which is an update, so their
   `updated_at` jumps past the cursor), touches customers, and appends to the audit log.
5. *Run again* the three incremental exports (`orders`, `customers`, `audit_log`). They deliver exactly the rows of
   `AddedRows`: new and updated orders, the touched customers (besides those without a cursor, which come with every run),
   and the new audit rows; nothing twice, nothing missing. Of the 40,000 older orders none is read again.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from rivet_core.demo.sample import CUSTOMERS, DemoShop, audit, item, mix
from rivet_core.errors import RivetError

NEW_ORDERS, MOVED_ORDERS, TOUCHED_CUSTOMERS, NEW_AUDIT = 300, 120, 40, 250
ITEMS_PER_ORDER = 3


@dataclass(frozen=True, slots=True)
class AddedRows:
    """What `add_rows` wrote: the second run delivers `orders`, `customers` (past the cursor) and `audit` rows."""

    new_orders: int
    updated_orders: int
    items: int
    customers: int
    audit: int

    @property
    def orders(self) -> int:
        """Rows of orders past the cursor: the new ones and the updated ones."""
        return self.new_orders + self.updated_orders


def add_rows(shop: DemoShop) -> AddedRows:
    """Let the shop go on for a while: always the same rows after the same database, later than everything in it.

    Raises `RivetError` when the database cannot be written.
    """
    try:
        connection = sqlite3.connect(f"{shop.database.resolve().as_uri()}?mode=rw", uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise RivetError(f"cannot open {shop.database}: {error}", hint="run `rivet demo` again") from None
    try:
        connection.execute("BEGIN IMMEDIATE")
        added = _write(connection)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise RivetError(
            f"cannot write to {shop.database}: {error}", hint="close what has it open, or run `rivet demo` again"
        ) from None
    finally:
        connection.close()
    return added


def _write(connection: sqlite3.Connection) -> AddedRows:
    last_order, last_item, last_audit = (
        connection.execute(f"SELECT max(id) FROM {table}").fetchone()[0]  # noqa: S608 - names of this module
        for table in ("orders", "order_items", "audit_log")
    )
    (latest,) = connection.execute(
        "SELECT max(at) FROM (SELECT max(updated_at) AS at FROM orders UNION ALL SELECT max(updated_at) FROM customers"
        " UNION ALL SELECT max(at) FROM audit_log)"
    ).fetchone()
    now = datetime.fromisoformat(latest)

    def at(minutes: int) -> str:
        return str(now + timedelta(minutes=minutes))

    orders = [
        (n, mix(n, 10) % CUSTOMERS + 1, "paid", 990 + mix(n, 11) % 50_000, at(i + 1), at(i + 1))
        for i, n in enumerate(range(last_order + 1, last_order + NEW_ORDERS + 1))
    ]
    connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", orders)
    items = [item(last_item + 1 + i, last_order + 1 + i // ITEMS_PER_ORDER) for i in range(NEW_ORDERS * ITEMS_PER_ORDER)]
    connection.executemany("INSERT INTO order_items VALUES (?, ?, ?, ?, ?, ?)", items)
    moved = [(at(NEW_ORDERS + i // 10), last_order - 7 * i) for i in range(MOVED_ORDERS)]
    connection.executemany("UPDATE orders SET status = 'shipped', updated_at = ? WHERE id = ?", moved)
    touched = [(at(i + 1), mix(i, 30) % (CUSTOMERS // 2) * 2 + i % 2 + 1) for i in range(TOUCHED_CUSTOMERS)]
    connection.executemany("UPDATE customers SET newsletter = 1, updated_at = ? WHERE id = ?", touched)
    log = [audit(last_audit + 1 + i, at(i)) for i in range(NEW_AUDIT)]
    connection.executemany("INSERT INTO audit_log VALUES (?, ?, ?, ?, ?)", log)
    return AddedRows(
        new_orders=len(orders),
        updated_orders=len(moved),
        items=len(items),
        customers=len({customer for _, customer in touched}),
        audit=len(log),
    )

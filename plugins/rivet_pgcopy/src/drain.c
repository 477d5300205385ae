#include "drain.h"

#include <errno.h>
#include <poll.h>

enum { ROWS_UNTIL_COUNTED = 64 };

/* Wait for the socket and take what it has. Under TLS bytes may be there that the socket knows nothing of, so libpq is asked
 * whether or not the wait was in vain. */
static drained receive(const libpq *pq, void *connection, int patience_ms) {
    struct pollfd waited = {.fd = pq->socket(connection), .events = POLLIN};
    if (waited.fd < 0) return BROKEN;
    int ready = poll(&waited, 1, patience_ms);
    if (ready < 0) return errno == EINTR ? WAITING : BROKEN;
    if (!pq->consume_input(connection)) return BROKEN;
    return ready > 0 ? FULL : WAITING;
}

drained drain(const libpq *pq, void *connection, batch *into, size_t limit, int patience_ms, problem *found) {
    size_t uncounted_bytes = 0;
    int uncounted_rows = 0;
    drained last = FULL;
    *found = FINE;
    for (;;) {
        char *message = NULL;
        int length = pq->get_copy_data(connection, &message, 1);
        if (length == 0) {
            /* What had arrived before the connection broke is read first. */
            if (last == BROKEN) return BROKEN;
            last = receive(pq, connection, patience_ms);
            if (last == WAITING) return WAITING;
            continue;
        }
        if (length < 0) return length == -1 ? ENDED : BROKEN;
        *found = batch_feed(into, (const uint8_t *)message, (size_t)length);
        pq->free_memory(message);
        if (*found != FINE) return REFUSED;
        uncounted_bytes += (size_t)length;
        if (++uncounted_rows < ROWS_UNTIL_COUNTED && uncounted_bytes < limit / ROWS_UNTIL_COUNTED) continue;
        if (batch_bytes(into) >= limit) return FULL;
        uncounted_bytes = 0;
        uncounted_rows = 0;
    }
}

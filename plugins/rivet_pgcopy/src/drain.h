/* Pulling messages out of libpq, which is the one that psycopg has loaded. */
#ifndef RIVET_DRAIN_H
#define RIVET_DRAIN_H

#include "batch.h"

/* The functions of that libpq; a connection is a `PGconn *`. */
typedef struct {
    int (*get_copy_data)(void *connection, char **message, int async);
    int (*consume_input)(void *connection);
    int (*socket)(const void *connection);
    void (*free_memory)(void *message);
} libpq;

typedef enum {
    FULL,    /* as many bytes as were asked for, or more */
    WAITING, /* nothing came for a while, or a signal did */
    ENDED,   /* no more data: the result says whether it was all */
    BROKEN,  /* libpq gave up: the connection has the message */
    REFUSED  /* the decoder did not like it, see the problem */
} drained;

/* Feed the batch until it has `limit` bytes. Needs no lock, and waits at most `patience_ms` for the server at once. */
drained drain(const libpq *pq, void *connection, batch *into, size_t limit, int patience_ms, problem *found);

#endif

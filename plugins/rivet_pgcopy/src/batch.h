/* Rows of a COPY binary stream, gathered into columns until they are taken away. */
#ifndef RIVET_BATCH_H
#define RIVET_BATCH_H

#include "column.h"

typedef struct {
    column *columns;
    int count;
    int64_t rows;
    int64_t room;      /* rows that the columns have room for */
    size_t row_bytes;  /* what a row takes without values of variable length */
    bool begun;        /* the header was read */
    bool ended;        /* the trailer was read */
    int failed_column; /* where a value was wrong, -1 where the row was */
} batch;

/* Set up for columns that are owned from now on. */
void batch_start(batch *self, column *columns, int count);

void batch_free(batch *self);

/* Take one message of the stream: a row, with the header before the first; the trailer comes alone or behind a row. */
problem batch_feed(batch *self, const uint8_t *bytes, size_t length);

/* Bytes that the rows take so far. */
size_t batch_bytes(const batch *self);

/* Count as empty again, after the columns' buffers were taken. */
void batch_clear(batch *self);

#endif

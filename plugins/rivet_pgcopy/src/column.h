/* One column of a batch: the buffers of its Arrow array, filled value by value. */
#ifndef RIVET_COLUMN_H
#define RIVET_COLUMN_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "problem.h"

typedef enum {
    BOOLEAN,
    FIXED16,    /* int2 */
    FIXED32,    /* int4, float4: bytes turned, bit for bit */
    FIXED64,    /* int8, float8 */
    OBJECT_ID,  /* oid, to 64 bits */
    DATE,       /* days since 2000 to days since 1970 */
    TIMESTAMP,  /* microseconds since 2000 to microseconds since 1970 */
    TIME,       /* microseconds since midnight */
    DECIMAL128,
    DECIMAL256,
    BYTES,      /* text, bytea, json: as they are */
    JSONB,      /* a version byte, then text */
    UUID,
    LIST,
    KINDS
} kind;

/* What a column is; `precision` and `scale` for decimals, `element` (a type's oid) for the items of a list. */
typedef struct {
    kind kind;
    int precision;
    int scale;
    uint32_t element;
} field;

typedef struct column {
    field field;
    int64_t length;
    int64_t room;        /* values that buffers of a fixed width have room for */
    int64_t nulls;
    int64_t outside;     /* values that the type of Arrow cannot keep, which became NULL */
    buffer validity;     /* a bit for each value, all set until a NULL clears one */
    buffer offsets;      /* of BYTES, JSONB and LIST */
    buffer values;
    struct column *items; /* of a LIST */
} column;

/* Set up a column; `items` is the column of a LIST's elements, set up before, NULL otherwise. */
void column_start(column *self, field field, column *items);

/* Free what the column holds, its items included. */
void column_free(column *self);

/* Make room for so many values in all. False when there is no memory. */
bool column_reserve(column *self, int64_t room);

/* Append one value; there must be room for it. `length` -1 is NULL. */
problem column_append(column *self, const uint8_t *bytes, int32_t length);

/* Bytes that one value takes besides those counted by `column_bytes`. */
size_t column_width(const column *self);

/* Bytes of the values of variable length so far. */
size_t column_bytes(const column *self);

/* Append one array; for column_append alone. Dimensions that are refused are kept for `dimensions_seen`. */
problem list_append(column *self, const uint8_t *bytes, size_t length);

/* The last array refused for its dimensions, as array_dims() writes them, for this thread. */
const char *dimensions_seen(void);

#endif

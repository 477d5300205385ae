#include <stdio.h>

#include "column.h"
#include "wire.h"

/* Dimensions, whether there are NULLs, the elements' type; for each dimension its size and lower bound; the elements, each
 * with its length before it. */
enum { HEAD_BYTES = 12, DIMENSION_BYTES = 8, LENGTH_BYTES = 4, MOST_DIMENSIONS = 6 };

static _Thread_local char seen[MOST_DIMENSIONS * 26 + 1];

const char *dimensions_seen(void) {
    return seen;
}

static problem refuse(const uint8_t *dimensions, int count) {
    size_t used = 0;
    for (int i = 0; i < count; i++, dimensions += DIMENSION_BYTES) {
        long long size = (int32_t)load32(dimensions), lower = (int32_t)load32(dimensions + 4);
        used += (size_t)snprintf(seen + used, sizeof seen - used, "[%lld:%lld]", lower, lower + size - 1);
    }
    return DIMENSIONS;
}

problem list_append(column *self, const uint8_t *bytes, size_t length) {
    if (length < HEAD_BYTES) return BAD_LENGTH;
    uint32_t dimensions = load32(bytes), element = load32(bytes + 8);
    if (load32(bytes + 4) > 1 || dimensions > MOST_DIMENSIONS) return BAD_VALUE;
    if (element != self->field.element) return OTHER_ELEMENTS;
    if (length < HEAD_BYTES + dimensions * DIMENSION_BYTES) return BAD_LENGTH;
    if (dimensions == 0) return length == HEAD_BYTES ? FINE : BAD_LENGTH;
    if (dimensions > 1 || load32(bytes + HEAD_BYTES + 4) != 1) return refuse(bytes + HEAD_BYTES, (int)dimensions);
    const uint8_t *at = bytes + HEAD_BYTES + DIMENSION_BYTES, *end = bytes + length;
    size_t count = load32(bytes + HEAD_BYTES);
    if (count > (size_t)(end - at) / LENGTH_BYTES) return BAD_LENGTH;
    column *items = self->items;
    int64_t wanted = items->length + (int64_t)count;
    if (wanted > INT32_MAX) return TOO_LARGE;
    if (wanted > items->room && !column_reserve(items, wanted + wanted / 2)) return NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (end - at < LENGTH_BYTES) return CUT_ROW;
        int32_t size = (int32_t)load32(at);
        at += LENGTH_BYTES;
        if (size > end - at) return CUT_ROW;
        problem found = column_append(items, at, size);
        if (found != FINE) return found;
        if (size > 0) at += size;
    }
    return at == end ? FINE : BAD_LENGTH;
}

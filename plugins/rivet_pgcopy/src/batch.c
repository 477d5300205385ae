#include "batch.h"

#include <stdlib.h>

#include "wire.h"

static const uint8_t SIGNATURE[11] = {'P', 'G', 'C', 'O', 'P', 'Y', '\n', 0xFF, '\r', '\n', 0};
/* The signature, flags, and the length of an extension; then each row has a count, and each value a length. */
enum { HEADER_BYTES = sizeof SIGNATURE + 8, COUNT_BYTES = 2, LENGTH_BYTES = 4, FIRST_ROOM = 1024, TRAILER = 0xFFFF };

void batch_start(batch *self, column *columns, int count) {
    *self = (batch){.columns = columns, .count = count, .row_bytes = 1, .failed_column = -1};
    for (int i = 0; i < count; i++) self->row_bytes += column_width(&columns[i]);
}

void batch_free(batch *self) {
    for (int i = 0; i < self->count; i++) column_free(&self->columns[i]);
    free(self->columns);
    *self = (batch){0};
}

void batch_clear(batch *self) {
    self->rows = 0;
    self->room = 0;
}

size_t batch_bytes(const batch *self) {
    size_t bytes = (size_t)self->rows * self->row_bytes;
    for (int i = 0; i < self->count; i++) bytes += column_bytes(&self->columns[i]);
    return bytes;
}

static problem read_header(const uint8_t **at, const uint8_t *end) {
    if (end - *at < HEADER_BYTES || memcmp(*at, SIGNATURE, sizeof SIGNATURE) != 0) return BAD_HEADER;
    uint32_t flags = load32(*at + sizeof SIGNATURE), extension = load32(*at + sizeof SIGNATURE + 4);
    if (flags != 0 || extension != 0) return BAD_HEADER;
    *at += HEADER_BYTES;
    return FINE;
}

static bool reserve(batch *self) {
    int64_t room = self->room == 0 ? FIRST_ROOM : self->room * 2;
    for (int i = 0; i < self->count; i++)
        if (!column_reserve(&self->columns[i], room)) return false;
    self->room = room;
    return true;
}

static problem read_row(batch *self, const uint8_t **cursor, const uint8_t *end) {
    const uint8_t *at = *cursor;
    for (int i = 0; i < self->count; i++) {
        if (end - at < LENGTH_BYTES) return CUT_ROW;
        int32_t length = (int32_t)load32(at);
        at += LENGTH_BYTES;
        if (length > end - at) return CUT_ROW;
        problem found = column_append(&self->columns[i], at, length);
        if (found != FINE) {
            self->failed_column = i;
            return found;
        }
        if (length > 0) at += length;
    }
    self->rows++;
    *cursor = at;
    return FINE;
}

problem batch_feed(batch *self, const uint8_t *bytes, size_t length) {
    const uint8_t *at = bytes, *end = bytes + length;
    if (!self->begun) {
        problem found = read_header(&at, end);
        if (found != FINE) return found;
        self->begun = true;
    }
    while (at < end) {
        if (self->ended) return AFTER_END;
        if (end - at < COUNT_BYTES) return CUT_ROW;
        uint16_t count = load16(at);
        at += COUNT_BYTES;
        if (count == TRAILER) {
            self->ended = true;
            continue;
        }
        if (count != self->count) return BAD_COUNT;
        if (self->rows == self->room && !reserve(self)) return NO_MEMORY;
        problem found = read_row(self, &at, end);
        if (found != FINE) return found;
    }
    return FINE;
}

#include "column.h"

#include <stdlib.h>

#include "numeric.h"
#include "wire.h"

/* Days and microseconds between 1970-01-01, where Arrow counts from, and 2000-01-01, where the server does. */
#define DAYS_TO_2000 10957
#define MICROS_TO_2000 INT64_C(946684800000000)
#define MICROS_OF_DAY INT64_C(86400000000)
#define LONGEST INT32_MAX

static const uint8_t WIDTHS[KINDS] = {
    [FIXED16] = 2,   [FIXED32] = 4,     [FIXED64] = 8,     [OBJECT_ID] = 8, [DATE] = 4,
    [TIMESTAMP] = 8, [TIME] = 8,        [DECIMAL128] = 16, [DECIMAL256] = 32, [UUID] = 16,
};

static bool has_offsets(const column *self) {
    return self->field.kind == BYTES || self->field.kind == JSONB || self->field.kind == LIST;
}

void column_start(column *self, field field, column *items) {
    *self = (column){.field = field, .items = items};
}

void column_free(column *self) {
    buffer_free(&self->validity);
    buffer_free(&self->offsets);
    buffer_free(&self->values);
    if (self->items != NULL) {
        column_free(self->items);
        free(self->items);
        self->items = NULL;
    }
}

size_t column_width(const column *self) {
    return has_offsets(self) ? sizeof(int32_t) : self->field.kind == BOOLEAN ? 1 : WIDTHS[self->field.kind];
}

size_t column_bytes(const column *self) {
    if (self->items != NULL) return column_bytes(self->items) + (size_t)self->items->length * column_width(self->items);
    return has_offsets(self) ? self->values.size : 0;
}

/* Grow a bitmap; its new bytes are `fill`. */
static bool grow_bits(buffer *bits, int64_t room, int fill) {
    size_t before = bits->size, wanted = (size_t)(room + 7) / 8;
    if (wanted <= before) return true;
    if (!buffer_grow(bits, wanted)) return false;
    memset(bits->bytes + before, fill, wanted - before);
    bits->size = wanted;
    return true;
}

bool column_reserve(column *self, int64_t room) {
    if (room < 0 || !grow_bits(&self->validity, room, 0xFF)) return false;
    if (has_offsets(self)) {
        if (!buffer_grow(&self->offsets, ((size_t)room + 1) * sizeof(int32_t)) || !buffer_grow(&self->values, 1)) return false;
        if (self->length == 0) memset(self->offsets.bytes, 0, sizeof(int32_t));
    } else if (self->field.kind == BOOLEAN) {
        if (!grow_bits(&self->values, room, 0)) return false;
    } else if (!buffer_grow(&self->values, (size_t)room * WIDTHS[self->field.kind])) {
        return false;
    }
    self->room = room;
    return true;
}

static void end_at(column *self, size_t offset) {
    ((int32_t *)(void *)self->offsets.bytes)[self->length + 1] = (int32_t)offset;
}

static void append_null(column *self) {
    self->validity.bytes[self->length / 8] &= (uint8_t)~(1u << (self->length % 8));
    self->nulls++;
    if (has_offsets(self)) {
        end_at(self, self->field.kind == LIST ? (size_t)self->items->length : self->values.size);
    } else if (self->field.kind != BOOLEAN) {
        size_t width = WIDTHS[self->field.kind];
        memset(self->values.bytes + (size_t)self->length * width, 0, width);
    }
    self->length++;
}

static void append_outside(column *self) {
    append_null(self);
    self->outside++;
}

static void put32(column *self, uint32_t value) {
    memcpy(self->values.bytes + self->length++ * sizeof value, &value, sizeof value);
}

static void put64(column *self, uint64_t value) {
    memcpy(self->values.bytes + self->length++ * sizeof value, &value, sizeof value);
}

static problem append_boolean(column *self, uint8_t value) {
    if (value > 1) return BAD_VALUE;
    if (value == 1) self->values.bytes[self->length / 8] |= (uint8_t)(1u << (self->length % 8));
    self->length++;
    return FINE;
}

static void append_date(column *self, int32_t days) {
    if (days == INT32_MIN || days > INT32_MAX - DAYS_TO_2000) return append_outside(self);
    put32(self, (uint32_t)(days + DAYS_TO_2000));
}

static void append_timestamp(column *self, int64_t micros) {
    if (micros == INT64_MIN || micros > INT64_MAX - MICROS_TO_2000) return append_outside(self);
    put64(self, (uint64_t)(micros + MICROS_TO_2000));
}

static problem append_time(column *self, int64_t micros) {
    if (micros < 0 || micros > MICROS_OF_DAY) return BAD_VALUE;
    if (micros == MICROS_OF_DAY) {
        append_outside(self);
    } else {
        put64(self, (uint64_t)micros);
    }
    return FINE;
}

static problem append_decimal(column *self, const uint8_t *bytes, size_t length) {
    uint64_t words[4];
    int count = self->field.kind == DECIMAL128 ? 2 : 4;
    bool finite;
    problem found = numeric_decode(bytes, length, self->field.precision, self->field.scale, words, count, &finite);
    if (found != FINE) return found;
    if (!finite) {
        append_outside(self);
        return FINE;
    }
    size_t width = sizeof *words * (size_t)count;
    memcpy(self->values.bytes + (size_t)self->length++ * width, words, width);
    return FINE;
}

static problem append_bytes(column *self, const uint8_t *bytes, size_t length) {
    if (self->values.size + length > LONGEST) return TOO_LARGE;
    if (!buffer_append(&self->values, bytes, length)) return NO_MEMORY;
    end_at(self, self->values.size);
    self->length++;
    return FINE;
}

problem column_append(column *self, const uint8_t *bytes, int32_t signed_length) {
    if (signed_length == -1) {
        append_null(self);
        return FINE;
    }
    if (signed_length < 0) return BAD_LENGTH;
    size_t length = (size_t)signed_length;
    switch (self->field.kind) {
    case BOOLEAN:
        return length == 1 ? append_boolean(self, bytes[0]) : BAD_LENGTH;
    case FIXED16: {
        if (length != 2) return BAD_LENGTH;
        uint16_t value = load16(bytes);
        memcpy(self->values.bytes + self->length++ * 2, &value, 2);
        return FINE;
    }
    case FIXED32:
        if (length != 4) return BAD_LENGTH;
        put32(self, load32(bytes));
        return FINE;
    case FIXED64:
        if (length != 8) return BAD_LENGTH;
        put64(self, load64(bytes));
        return FINE;
    case OBJECT_ID:
        if (length != 4) return BAD_LENGTH;
        put64(self, load32(bytes));
        return FINE;
    case DATE:
        if (length != 4) return BAD_LENGTH;
        append_date(self, (int32_t)load32(bytes));
        return FINE;
    case TIMESTAMP:
        if (length != 8) return BAD_LENGTH;
        append_timestamp(self, (int64_t)load64(bytes));
        return FINE;
    case TIME:
        return length == 8 ? append_time(self, (int64_t)load64(bytes)) : BAD_LENGTH;
    case DECIMAL128:
    case DECIMAL256:
        return append_decimal(self, bytes, length);
    case BYTES:
        return append_bytes(self, bytes, length);
    case JSONB:
        if (length < 1) return BAD_LENGTH;
        return bytes[0] == 1 ? append_bytes(self, bytes + 1, length - 1) : BAD_VALUE;
    case UUID:
        if (length != 16) return BAD_LENGTH;
        memcpy(self->values.bytes + self->length++ * 16, bytes, 16);
        return FINE;
    case LIST: {
        problem found = list_append(self, bytes, length);
        if (found != FINE) return found;
        end_at(self, (size_t)self->items->length);
        self->length++;
        return FINE;
    }
    case KINDS:
        break;
    }
    return BAD_VALUE;
}

/* Bytes that grow, to be handed over to Arrow. */
#ifndef RIVET_BUFFER_H
#define RIVET_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    uint8_t *bytes;
    size_t size; /* filled, where the owner counts bytes */
    size_t room;
} buffer;

/* Make room for `wanted` bytes in all; what is new is not set. False when there is no memory. */
bool buffer_grow(buffer *self, size_t wanted);

/* Give the bytes away; the buffer is empty afterwards. Never NULL, unless there is no memory. */
uint8_t *buffer_take(buffer *self);

void buffer_free(buffer *self);

static inline bool buffer_append(buffer *self, const uint8_t *bytes, size_t count) {
    if (self->room - self->size < count && !buffer_grow(self, self->size + count)) return false;
    memcpy(self->bytes + self->size, bytes, count);
    self->size += count;
    return true;
}

#endif

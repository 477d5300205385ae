#include "buffer.h"

#include <stdlib.h>

enum { SMALLEST = 64 };

bool buffer_grow(buffer *self, size_t wanted) {
    if (wanted <= self->room && self->bytes != NULL) return true;
    size_t room = self->room + self->room / 2;
    if (room < wanted) room = wanted;
    if (room > SIZE_MAX - SMALLEST) return false;
    room = (room + SMALLEST) / SMALLEST * SMALLEST;
    uint8_t *bytes = realloc(self->bytes, room);
    if (bytes == NULL) return false;
    self->bytes = bytes;
    self->room = room;
    return true;
}

uint8_t *buffer_take(buffer *self) {
    if (!buffer_grow(self, 1)) return NULL;
    uint8_t *bytes = self->bytes;
    *self = (buffer){0};
    return bytes;
}

void buffer_free(buffer *self) {
    free(self->bytes);
    *self = (buffer){0};
}

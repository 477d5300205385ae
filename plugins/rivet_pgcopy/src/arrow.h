/* The Arrow C data interface: https://arrow.apache.org/docs/format/CDataInterface.html */
#ifndef RIVET_ARROW_H
#define RIVET_ARROW_H

#include <stdbool.h>
#include <stdint.h>

#include "batch.h"

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

/* Move the rows of a batch into a struct array that owns them; the batch is empty afterwards. False without memory. */
bool arrow_export(batch *from, struct ArrowArray *to);

#endif

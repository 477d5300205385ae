#include "arrow.h"

#include <stdlib.h>

enum { MOST_BUFFERS = 3 };

/* What an exported array owns, in one piece: its buffers, and its children where it has some. */
typedef struct {
    const void *buffers[MOST_BUFFERS];
    struct ArrowArray **children;
    struct ArrowArray *places;
} holding;

static void release(struct ArrowArray *array) {
    holding *held = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        struct ArrowArray *child = array->children[i];
        if (child->release != NULL) child->release(child);
    }
    for (int i = 0; i < MOST_BUFFERS; i++) free((void *)held->buffers[i]);
    free(held->children);
    free(held->places);
    free(held);
    array->release = NULL;
}

/* Make an array without buffers, and room for its children. */
static bool start(struct ArrowArray *to, int64_t length, int64_t nulls, int64_t buffers, int64_t children) {
    holding *held = calloc(1, sizeof *held);
    if (held == NULL) return false;
    held->children = calloc((size_t)children + 1, sizeof *held->children);
    held->places = calloc((size_t)children + 1, sizeof *held->places);
    if (held->children == NULL || held->places == NULL) {
        free(held->children);
        free(held->places);
        free(held);
        return false;
    }
    for (int64_t i = 0; i < children; i++) held->children[i] = &held->places[i];
    *to = (struct ArrowArray){
        .length = length,
        .null_count = nulls,
        .n_buffers = buffers,
        .n_children = children,
        .buffers = held->buffers,
        .children = held->children,
        .release = release,
        .private_data = held,
    };
    return true;
}

static bool export_column(column *from, struct ArrowArray *to) {
    bool list = from->items != NULL, offsets = list || from->field.kind == BYTES || from->field.kind == JSONB;
    if (!column_reserve(from, from->length > from->room ? from->length : from->room)) return false;
    if (!start(to, from->length, from->nulls, list || !offsets ? 2 : 3, list)) return false;
    holding *held = to->private_data;
    bool whole = true;
    if (from->nulls > 0) held->buffers[0] = buffer_take(&from->validity);
    if (offsets) {
        held->buffers[1] = buffer_take(&from->offsets);
        whole = held->buffers[1] != NULL;
    }
    if (!list) {
        held->buffers[offsets ? 2 : 1] = buffer_take(&from->values);
        whole = whole && held->buffers[offsets ? 2 : 1] != NULL;
    } else {
        whole = whole && export_column(from->items, to->children[0]);
    }
    from->length = from->nulls = from->room = 0;
    return whole;
}

bool arrow_export(batch *from, struct ArrowArray *to) {
    if (!start(to, from->rows, 0, 1, from->count)) return false;
    for (int i = 0; i < from->count; i++) {
        if (!export_column(&from->columns[i], to->children[i])) {
            to->release(to);
            return false;
        }
    }
    batch_clear(from);
    return true;
}

/* Feed a corpus to the decoder, one message changed each round, and walk the arrays that come out: `fuzz CORPUS ROUNDS SEED`.
 *
 * Built with the sanitizers by `python -m benchmarks.fuzz`, which also writes the corpus: the number of columns, their kind,
 * precision, scale, whether they are lists and their element; the number of messages, each with its length. All are 32-bit
 * numbers of this machine. Every message lies in memory of exactly its size, so that a byte read too far is seen. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrow.h"

typedef struct {
    uint32_t length;
    uint8_t *bytes;
} message;

static uint64_t state;

static uint32_t dice(uint32_t sides) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return sides == 0 ? 0 : (uint32_t)((state >> 16) % sides);
}

static void fail(const char *what) {
    fprintf(stderr, "fuzz: %s\n", what);
    exit(1);
}

static uint32_t number(FILE *from) {
    uint32_t value;
    if (fread(&value, sizeof value, 1, from) != 1) fail("the corpus is cut");
    return value;
}

/* Return a changed copy; the caller frees it. */
static message change(message from) {
    uint32_t room = from.length + 64;
    uint8_t *work = malloc(room);
    uint32_t length = from.length;
    memcpy(work, from.bytes, length);
    for (uint32_t times = 1 + dice(4); times > 0; times--) {
        uint32_t at = dice(length + 1), count = 1 + dice(8);
        switch (dice(6)) {
        case 0:
            if (at < length) work[at] = (uint8_t)dice(256);
            break;
        case 1:
            if (at < length) work[at] ^= (uint8_t)(1u << dice(8));
            break;
        case 2: /* cut bytes out */
            if (at + count > length) count = length - at;
            memmove(work + at, work + at + count, length - at - count);
            length -= count;
            break;
        case 3: /* put bytes in */
            if (length + count > room) break;
            memmove(work + at + count, work + at, length - at);
            for (uint32_t i = 0; i < count; i++) work[at + i] = (uint8_t)dice(256);
            length += count;
            break;
        case 4: { /* a length or a count that means trouble */
            static const uint32_t VALUES[] = {0, 1, 2, 0xFFFFFFFF, 0xFEFFFFFF, 0xFFFFFF7F, 0x00000080, 0x01000000, 0x06000000};
            if (at + 4 <= length) memcpy(work + at, &VALUES[dice(sizeof VALUES / sizeof *VALUES)], 4);
            break;
        }
        default: /* end early */
            length = at;
        }
    }
    message to = {length, malloc(length + (length == 0))};
    memcpy(to.bytes, work, length);
    free(work);
    return to;
}

/* Add up every byte that an array says it has: the sanitizer sees those that it has not. */
static uint64_t walk(const struct ArrowArray *array, const column *like) {
    uint64_t sum = 0;
    const uint8_t *validity = array->buffers[0];
    int64_t nulls = 0;
    if (validity != NULL)
        for (int64_t i = 0; i < array->length; i++) nulls += !(validity[i / 8] >> (i % 8) & 1);
    if (nulls != array->null_count) fail("the count of NULLs is wrong");
    if (like->items != NULL || like->field.kind == BYTES || like->field.kind == JSONB) {
        const int32_t *offsets = array->buffers[1];
        if (offsets[0] != 0) fail("offsets do not begin at 0");
        for (int64_t i = 0; i < array->length; i++)
            if (offsets[i + 1] < offsets[i]) fail("offsets go back");
        if (like->items != NULL) {
            if (offsets[array->length] != array->children[0]->length) fail("offsets end elsewhere than their items");
            return walk(array->children[0], like->items);
        }
        const uint8_t *values = array->buffers[2];
        for (int64_t i = 0; i < offsets[array->length]; i++) sum += values[i];
        return sum;
    }
    const uint8_t *values = array->buffers[1];
    size_t bytes = like->field.kind == BOOLEAN ? (size_t)(array->length + 7) / 8 : (size_t)array->length * column_width(like);
    for (size_t i = 0; i < bytes; i++) sum += values[i];
    return sum;
}

int main(int count, char **arguments) {
    if (count != 4) fail("fuzz CORPUS ROUNDS SEED");
    FILE *from = fopen(arguments[1], "rb");
    if (from == NULL) fail("no corpus");
    uint64_t rounds = strtoull(arguments[2], NULL, 10), sum = 0, refused = 0;
    state = strtoull(arguments[3], NULL, 10) * 2654435761u + 88172645463325252u;
    uint32_t width = number(from);
    uint32_t(*fields)[5] = calloc(width, sizeof *fields);
    for (uint32_t i = 0; i < width * 5; i++) fields[i / 5][i % 5] = number(from);
    uint32_t height = number(from);
    message *messages = calloc(height, sizeof *messages);
    for (uint32_t i = 0; i < height; i++) {
        messages[i].length = number(from);
        messages[i].bytes = malloc(messages[i].length + 1);
        if (fread(messages[i].bytes, 1, messages[i].length, from) != messages[i].length) fail("the corpus is cut");
    }
    fclose(from);
    for (uint64_t round = 0; round < rounds; round++) {
        column *columns = calloc(width + 1, sizeof *columns);
        for (uint32_t i = 0; i < width; i++) {
            field one = {.kind = (kind)fields[i][0], .precision = (int)fields[i][1], .scale = (int)fields[i][2]};
            column *items = NULL;
            if (fields[i][3]) {
                items = malloc(sizeof *items);
                column_start(items, one, NULL);
                one = (field){.kind = LIST, .element = fields[i][4]};
            }
            column_start(&columns[i], one, items);
        }
        batch all;
        batch_start(&all, columns, (int)width);
        uint32_t changed = dice(height), taken = dice(height);
        problem found = FINE;
        for (uint32_t i = 0; i < height && found == FINE; i++) {
            message one = i == changed ? change(messages[i]) : (message){messages[i].length, NULL};
            if (one.bytes == NULL) {
                one.bytes = malloc(one.length + (one.length == 0));
                memcpy(one.bytes, messages[i].bytes, one.length);
            }
            found = batch_feed(&all, one.bytes, one.length);
            free(one.bytes);
            if (found != FINE || (i != taken && i + 1 != height)) continue;
            struct ArrowArray array;
            if (!arrow_export(&all, &array)) fail("no memory");
            for (uint32_t at = 0; at < width; at++) sum += walk(array.children[at], &all.columns[at]);
            array.release(&array);
        }
        refused += found != FINE;
        batch_free(&all);
    }
    for (uint32_t i = 0; i < height; i++) free(messages[i].bytes);
    free(messages);
    free(fields);
    printf("%" PRIu64 " rounds, %" PRIu64 " refused, sum %016" PRIx64 "\n", rounds, refused, sum);
    return 0;
}

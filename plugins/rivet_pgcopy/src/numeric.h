/* A numeric as the server sends it, to a decimal of Arrow: a two's complement integer of 128 or 256 bits. */
#ifndef RIVET_NUMERIC_H
#define RIVET_NUMERIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "problem.h"

/* Fill `words` (2 or 4, least significant first) with the value times 10 to the power of `scale`.
 *
 * `finite` becomes false for NaN and the infinities, and `words` are then zero. DOES_NOT_FIT where the value has digits
 * behind the scale, or more than `precision` in all (at most 38 for 2 words, 76 for 4). */
problem numeric_decode(
    const uint8_t *bytes, size_t length, int precision, int scale, uint64_t *words, int word_count, bool *finite);

#endif

#include "numeric.h"

#include <string.h>

#include "wire.h"

/* ndigits, weight, sign, dscale; then ndigits groups of four decimal digits, the first worth 10000 ^ weight. */
enum { HEAD_BYTES = 8, GROUP_DIGITS = 4, GROUP = 10000 };
enum { POSITIVE = 0x0000, NEGATIVE = 0x4000, NOT_A_NUMBER = 0xC000, PLUS_INFINITY = 0xD000, MINUS_INFINITY = 0xF000 };

static const uint32_t POWERS[GROUP_DIGITS + 1] = {1, 10, 100, 1000, 10000};

typedef unsigned __int128 wide;

static void multiply_add(uint64_t *words, int count, uint32_t factor, uint32_t more) {
    wide carry = more;
    for (int i = 0; i < count; i++) {
        carry += (wide)words[i] * factor;
        words[i] = (uint64_t)carry;
        carry >>= 64;
    }
}

static void negate(uint64_t *words, int count) {
    bool carry = true;
    for (int i = 0; i < count; i++) {
        words[i] = ~words[i] + carry;
        carry = carry && words[i] == 0;
    }
}

static int digits_of(uint32_t group) {
    return group >= 1000 ? 4 : group >= 100 ? 3 : group >= 10 ? 2 : 1;
}

/* Sum up the groups; the caller has made sure that the result fits. `power` is the power of ten of the first group. */
static problem sum_up(const uint8_t *groups, int count, int power, uint64_t *words, int word_count) {
    uint64_t small = 0; /* up to four groups at once: most numbers need no wide arithmetic */
    int pending = 0;
    bool wide_already = false;
    for (int i = 0; i < count; i++, power -= GROUP_DIGITS) {
        uint32_t group = load16(groups + 2 * i), factor = GROUP;
        if (group >= GROUP) return BAD_VALUE;
        if (power < 0) {
            int below = -power < GROUP_DIGITS ? -power : GROUP_DIGITS;
            if (group % POWERS[below] != 0) return DOES_NOT_FIT;
            group /= POWERS[below];
            factor = POWERS[GROUP_DIGITS - below];
        }
        if (!wide_already && pending < 4) {
            small = small * factor + group;
            pending++;
            continue;
        }
        if (!wide_already) {
            words[0] = small;
            wide_already = true;
        }
        multiply_add(words, word_count, factor, group);
    }
    if (!wide_already) words[0] = small;
    /* Groups of zeros at the end are not sent. */
    for (int missing = power + GROUP_DIGITS; missing > 0; missing -= GROUP_DIGITS)
        multiply_add(words, word_count, POWERS[missing < GROUP_DIGITS ? missing : GROUP_DIGITS], 0);
    return FINE;
}

problem numeric_decode(
    const uint8_t *bytes, size_t length, int precision, int scale, uint64_t *words, int word_count, bool *finite) {
    memset(words, 0, sizeof *words * (size_t)word_count);
    *finite = true;
    if (length < HEAD_BYTES) return BAD_LENGTH;
    int count = load16(bytes), weight = (int16_t)load16(bytes + 2), sign = load16(bytes + 4);
    if (length != HEAD_BYTES + 2 * (size_t)count) return BAD_LENGTH;
    if (sign != POSITIVE && sign != NEGATIVE) {
        *finite = false;
        return sign == NOT_A_NUMBER || sign == PLUS_INFINITY || sign == MINUS_INFINITY ? FINE : BAD_VALUE;
    }
    const uint8_t *groups = bytes + HEAD_BYTES;
    while (count > 0 && load16(groups) == 0) {
        groups += 2;
        count--;
        weight--;
    }
    if (count == 0) return FINE;
    uint32_t first = load16(groups);
    if (first >= GROUP) return BAD_VALUE;
    int power = GROUP_DIGITS * weight + scale;
    if (power + digits_of(first) > precision) return DOES_NOT_FIT;
    problem found = sum_up(groups, count, power, words, word_count);
    if (found == FINE && sign == NEGATIVE) negate(words, word_count);
    return found;
}

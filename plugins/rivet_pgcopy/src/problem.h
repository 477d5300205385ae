/* What can be wrong with a stream. Zero is fine, so that results can be tested as they are. */
#ifndef RIVET_PROBLEM_H
#define RIVET_PROBLEM_H

typedef enum {
    FINE = 0,
    NO_MEMORY,
    BAD_HEADER,     /* the stream does not begin like COPY binary, or wants features nobody knows */
    CUT_ROW,        /* a row, or a value in it, ends before its own length says */
    BAD_COUNT,      /* a row has another number of fields than columns were asked for */
    AFTER_END,      /* bytes follow the trailer */
    BAD_LENGTH,     /* a value has a length that its type does not have */
    BAD_VALUE,      /* a value has bytes that its type does not have */
    TOO_LARGE,      /* more bytes in one batch's column than its offsets can count */
    DOES_NOT_FIT,   /* a decimal has more digits than its column was declared with */
    OTHER_ELEMENTS, /* an array holds elements of another type than its column */
    DIMENSIONS      /* an array has several dimensions, or begins elsewhere than at 1, which a list cannot keep */
} problem;

#endif

"""From a unit to record batches: the exact SELECT, in pages along a key, by the binary protocol or row by row."""

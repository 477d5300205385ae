"""An embedded sample: a small shop in SQLite with a config that teaches, and the story that `rivet demo` tells with it."""

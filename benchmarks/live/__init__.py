"""The schedule on real servers: does a live run do what the plan and the simulator said, and how near is it to the bound."""

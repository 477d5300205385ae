"""What the server's catalog says about the tables that a config names, in a dozen statements whatever their number."""

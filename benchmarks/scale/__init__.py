"""Tables larger than memory: how fast they are fitted, and in how much memory."""

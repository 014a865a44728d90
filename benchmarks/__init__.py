"""How fast, and at which price: measurements that a command repeats."""

"""From a program to what runs: stream graph, job graph, levels, execution graph. Plain data, no I/O."""

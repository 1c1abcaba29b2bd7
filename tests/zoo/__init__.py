"""The zoo: programs that are ill in one way, near misses and healthy ones, each run under the real supervisor."""

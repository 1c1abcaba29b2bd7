"""Typed readings of the evidence: what the rules of the causes are written in."""

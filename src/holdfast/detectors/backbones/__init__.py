"""Backbones, their blocks and their ImageNet weights."""

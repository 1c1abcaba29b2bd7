"""placeholder"""
from dataclasses import dataclass
@dataclass
class Packed:
    from_epoch:int=0
def with_packed(c,p): return c

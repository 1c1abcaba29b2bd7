# /// zoo
# cause = "illegal-instruction"
# variants = ["AT=0"]
# near = ["AT=99999"]
# ///
"""Executes an instruction that this processor does not have."""
import ctypes
import mmap

from own_training import batches, knob, network, train

page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\x0f\x0b")  # ud2
kernel = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
train(network(), batches(800), epochs=2, on_step=lambda step: kernel() if step == knob("AT", 30) else None)

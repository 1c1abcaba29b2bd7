"""The allocator, by hand."""

from __future__ import annotations

from holdfast.memory.bfc_allocator import BfcAllocator, LoopAllocations, simulate

MIB = 2**20


def test_sizes_are_rounded_up_to_256_bytes():
    pool = BfcAllocator()
    pool.allocate(1)
    pool.allocate(257)
    assert pool.in_use == 256 + 512


def test_freed_chunks_are_joined_with_their_neighbours():
    pool = BfcAllocator(600 * MIB)
    first, second, third = (pool.allocate(200 * MIB) for _ in range(3))
    assert pool.allocate(1) is None
    pool.free(first)
    pool.free(third)
    assert pool.allocate(400 * MIB) is None  # two holes of 200
    pool.free(second)
    assert pool.allocate(600 * MIB) == 0


def test_a_hole_less_than_twice_as_large_is_not_split():
    pool = BfcAllocator()
    hole, fence = pool.allocate(240 * MIB), pool.allocate(1)
    pool.free(hole)
    pool.allocate(130 * MIB)  # 240 is neither twice 130 nor 128 more
    assert pool.in_use == 240 * MIB + 256
    assert fence is not None


def test_a_hole_twice_as_large_is_cut():
    pool = BfcAllocator()
    hole, _ = pool.allocate(240 * MIB), pool.allocate(1)
    pool.free(hole)
    pool.allocate(100 * MIB)
    assert pool.in_use == 100 * MIB + 256


def test_three_states_live_while_steps_are_under_way_and_one_when_donated():
    whole = {
        "model": [],
        "masks": [],
        "optimizer_state": [300 * MIB],
        "fixed": [],
        "results": [],
        "batch": [256],
        "temporaries": 400 * MIB,
    }
    # three states, the batch, the temporary
    assert simulate(LoopAllocations(**whole)) == (3 * 300 + 400) * MIB + 256
    assert simulate(LoopAllocations(**whole, donated=True)) == (300 + 400) * MIB + 256
    assert simulate(LoopAllocations(**whole), pool_bytes=1300 * MIB) is None
    assert simulate(LoopAllocations(**whole), pool_bytes=1300 * MIB + 256) == 1300 * MIB + 256


def test_a_variable_is_sent_and_copied_and_the_hole_is_not_split():
    loop = LoopAllocations(
        model=[100 * MIB, 100 * MIB],
        masks=[60 * MIB],
        optimizer_state=[300 * MIB],
        fixed=[],
        results=[],
        batch=[256],
        temporaries=400 * MIB,
    )
    # sent to 0, copied to 100; sent to 0, copied to 200; the mask of 60 gets the hole of 100
    assert simulate(loop) == (200 + 100 + 3 * 300 + 400) * MIB + 256

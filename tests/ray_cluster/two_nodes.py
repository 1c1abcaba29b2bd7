"""Two Ray nodes: `python -m tests.ray_cluster.two_nodes ADDRESS_FILE [CORES GPUS]`, until the line `end` comes.

Each has one core and no GPU, or so many; Ray takes GPUs that are only said to be there for real ones.

The file gets two lines: the address for machines of the cluster, and that for others (ray://).

The line `lose` ends the newest node at once, with all that runs on it; `add` adds one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from holdfast import atomic_write
from holdfast.launch.connection import free_port

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_worker_niceness", "0")  # else 15: beside other programs workers would hardly run


def main() -> int:
    from ray.cluster_utils import Cluster

    port = free_port()
    cores, gpus = map(int, sys.argv[2:] or (1, 0))
    node = {"num_cpus": cores, "num_gpus": gpus, "object_store_memory": 200 << 20}
    head = node | {"include_dashboard": False, "ray_client_server_port": port}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    others = [cluster.add_node(**node)]
    atomic_write.write_text(Path(sys.argv[1]), f"{cluster.address}\nray://127.0.0.1:{port}\n")
    for line in sys.stdin:  # in the main thread: a new node sets handlers of signals
        if line.strip() == "lose":
            cluster.remove_node(others.pop(), allow_graceful=False)
        if line.strip() == "add":
            others.append(cluster.add_node(**node))
        if line.strip() == "end":
            break
    cluster.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())

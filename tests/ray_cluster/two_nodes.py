"""Two Ray nodes of one core each: `python -m tests.ray_cluster.two_nodes ADDRESS_FILE`, until the line `end` comes.

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


def main() -> int:
    from ray.cluster_utils import Cluster

    port = free_port()
    head = {
        "num_cpus": 1, "include_dashboard": False, "object_store_memory": 200 << 20, "ray_client_server_port": port,
    }  # fmt: skip
    cluster = Cluster(initialize_head=True, head_node_args=head)
    others = [cluster.add_node(num_cpus=1, object_store_memory=200 << 20)]
    atomic_write.write_text(Path(sys.argv[1]), f"{cluster.address}\nray://127.0.0.1:{port}\n")
    for line in sys.stdin:  # in the main thread: a new node sets handlers of signals
        if line.strip() == "lose":
            cluster.remove_node(others.pop(), allow_graceful=False)
        if line.strip() == "add":
            others.append(cluster.add_node(num_cpus=1, object_store_memory=200 << 20))
        if line.strip() == "end":
            break
    cluster.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())

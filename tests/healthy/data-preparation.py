# /// zoo
# cause = "healthy"
# quick = true
# ///
"""No framework at all: reads, counts and writes files."""
import json
import random
from pathlib import Path

random.seed(0)
for number in range(400):
    boxes = [[random.random() for _ in range(4)] for _ in range(random.randrange(1, 30))]
    Path(f"{number}.json").write_text(json.dumps(boxes))
total = sum(len(json.loads(path.read_text())) for path in sorted(Path().glob("*.json")))
print("boxes:", total)

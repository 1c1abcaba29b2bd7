"""Files and folders: listing, splits, text encodings, JSON streams, process pool, cloud copies."""

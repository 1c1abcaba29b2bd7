"""Where the work on a dataset is done: in processes of this machine, or on the nodes of a Ray cluster."""

"""Several processes, several hosts: who is there, who is missing, who is slow; and jobs for clouds and clusters."""

"""Commands about this machine and this user: what works here, who is notified, completion of the shell."""

"""What `holdfast demo` needs: failures to inject, and a filter for its standard error."""

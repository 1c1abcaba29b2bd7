"""Reports: pure functions from errors, findings and journals to text, JSON or HTML."""

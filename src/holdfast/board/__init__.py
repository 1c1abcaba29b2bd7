"""The board: a live local web page of all runs. It reads run folders and writes none."""

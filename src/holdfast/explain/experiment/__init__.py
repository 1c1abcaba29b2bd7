"""An experiment after the run: the recorded model trained again, as it was and with the suspected fault corrected."""

"""Run times that the network changes while jobs run, or that measurements give."""

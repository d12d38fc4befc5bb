"""Network schedulers: what Crux and CASSINI gain in queues, and beside an exhaustive optimum"""

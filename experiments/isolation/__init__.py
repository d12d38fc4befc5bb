"""When isolation pays: assumed and simulated gains of isolated jobs (Jigsaw, Pollard, ...)"""

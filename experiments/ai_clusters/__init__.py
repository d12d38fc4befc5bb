"""AI clusters: what contention costs the queue"""

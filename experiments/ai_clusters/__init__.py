"""AI clusters: what contention costs the queue, and what to buy first"""

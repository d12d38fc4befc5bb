"""Which conclusions about placement depend on the router?"""

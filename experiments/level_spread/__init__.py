"""Zhang et al., Level-Spread: A New Job Allocation Policy for Dragonfly Networks, IPDPS'18"""

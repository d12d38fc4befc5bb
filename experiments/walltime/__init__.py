"""Tang et al., Reducing Fragmentation on Torus-Connected Supercomputers, IPDPS'11"""

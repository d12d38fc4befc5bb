"""Smith and Lowenthal, Jigsaw: an interference-free scheduler for fat-trees, HPDC'21"""

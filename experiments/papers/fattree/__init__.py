"""What the fat-tree papers share."""

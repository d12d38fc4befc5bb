"""``netcosim bench``: how fast this machine runs what the project runs, beside recorded peers."""

"""What a run keeps beside its tables: every schedule, every link, so that it can be drawn again."""

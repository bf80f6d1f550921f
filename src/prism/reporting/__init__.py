"""What a run leaves behind: records and pictures."""

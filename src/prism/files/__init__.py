"""What is on the disk: files that are whole or absent, checked when read, and the places they go to."""

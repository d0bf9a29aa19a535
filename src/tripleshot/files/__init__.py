"""Files and folders that are written whole, by one process at a time, and noticed if they change."""

"""How work is run: threads, compiled code, temporary folders, files written."""

"""The command line: one file per command, none of which loads a heavy library before it is needed."""

import time

began = time.monotonic()
"""When this process began to load the command; in one that runs several, when the last was called."""

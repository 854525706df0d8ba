"""The command line: one file per command, none of which loads a heavy library before it is needed."""

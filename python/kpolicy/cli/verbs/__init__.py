"""The verbs of the command line, a module each, with the settings that only one of them reads."""

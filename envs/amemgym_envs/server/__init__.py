"""The environments over HTTP: README.md beside this file is the protocol. Needs the extra ``server``."""

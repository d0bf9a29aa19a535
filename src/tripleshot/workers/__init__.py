"""Pieces of work, done by processes of this machine or of a cluster; one that dies is replaced."""

"""Methods that look at what joins head and tail: links, paths, walks, examples."""

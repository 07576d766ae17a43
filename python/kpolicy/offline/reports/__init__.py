"""The results of `offline/` as text for people: layouts of values that are computed elsewhere."""

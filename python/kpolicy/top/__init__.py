"""`kpolicy top`: a view of a running scheduler, from its metrics and debug pages.

`frames` makes figures of what the scheduler serves, `screens` makes lines of figures, `navigation`
says which screen is shown; `live_view` asks, draws and reads keys.
"""

"""What a program is: transformations, operators, functions, state, windows, contracts of sources and sinks.

The engine reads it and the APIs write it; neither imports the other for it.
"""

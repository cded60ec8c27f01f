"""What the window operators (``runtime/operators/windows.py``, ``panes.py``, ``sessions.py``) are made of."""

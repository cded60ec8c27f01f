"""What the window operators (``runtime/operators/windows.py``, ``panes.py``) are made of."""

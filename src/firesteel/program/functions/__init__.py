"""The functions that programs are made of."""

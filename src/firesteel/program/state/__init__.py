"""What functions see of state, and the descriptors that ask for it."""

"""What other packages add: kinds of state, operators, connectors and formats from outside of Firesteel."""

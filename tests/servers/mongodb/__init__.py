"""A double of MongoDB that speaks its protocol, and what the connector does with it."""

"""Tables of logged decisions: columns, roles, the encoded context, and the readers that fill them."""

"""The stores, one file each, with the SQL of their tables beside them."""

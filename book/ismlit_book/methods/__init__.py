"""Methods that the book compares with, and what measures them."""

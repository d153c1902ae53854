"""What the pages draw, and how a notebook shows it."""

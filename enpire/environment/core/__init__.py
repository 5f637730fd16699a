"""What a task, a controller and a backend of stations are, and what stands between them."""

"""Actions become setpoints, and sensors become readings, period by period."""

"""What pages of this machine are served with: who may ask, how much, and in which thread."""

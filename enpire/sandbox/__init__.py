"""Where programs run that others wrote: how they are shut in, how their work is taken out."""

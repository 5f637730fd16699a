"""How a scene and its arms are put back, varied and perturbed."""

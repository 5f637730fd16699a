"""A campaign: who takes part, which experiments begin, what is decided, recorded and reported."""

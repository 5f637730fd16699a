"""enpire: policies that improve themselves, on real arms and on their MuJoCo twins."""

__version__ = "0.1.0"

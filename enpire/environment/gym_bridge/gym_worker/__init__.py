"""Gymnasium environments with plain vectors in and out, in a process of their own.

Run as a script this folder serves one environment, or a vector of them, to `enpire` over its
standard input and output. It is run by interpreters that have other packages than ours: it imports
gymnasium, numpy and the standard library only, itself by relative names, and must do on Python 3.9.
"""

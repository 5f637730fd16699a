"""The report of a run: one HTML page that opens from a file and asks no network for anything.

`reading` takes everything that the page shows out of a run's ledger, as plain data. `drawing` turns
data into SVG. `page` puts both into one file.
"""

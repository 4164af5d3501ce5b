"""Figures as a person reads them: what pages draw and streams send again (04 §5.0, 6.4).

Below the edges, above the features; it knows neither a page nor a stream.
"""

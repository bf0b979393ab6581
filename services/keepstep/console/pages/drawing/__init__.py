"""Figures to coordinates: what templates draw as SVG. Pure; widths are in the units of each drawing's view box."""

"""Figures that a reader of these studies expects, and the panels and bars they are made of."""

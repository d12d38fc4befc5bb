"""Gain by isolation: features, predictors and designs of experiments."""

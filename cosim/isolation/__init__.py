"""What isolation gains: features, predictors and designs of experiments."""

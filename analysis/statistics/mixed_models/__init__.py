"""Linear and logistic mixed models from formulas in R's notation, with marginal means and contrasts."""

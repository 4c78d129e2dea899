# Fits the formula to the CSV file with lme4 and prints how long the fit took, and its log-likelihood.
# Rscript mixed_models.R FILE FORMULA gaussian|binomial
suppressMessages(library(lme4))
arguments <- commandArgs(trailingOnly = TRUE)
data <- read.csv(arguments[1], stringsAsFactors = TRUE)
formula <- as.formula(arguments[2])
seconds <- system.time(
  model <- if (arguments[3] == "gaussian") lmer(formula, data) else glmer(formula, data, family = binomial)
)[["elapsed"]]
cat(sprintf('{"seconds": %.4f, "loglik": %.8f}\n', seconds, as.numeric(logLik(model))))

# Tests of terms of one model by R: afex for linear mixed models, emmeans' joint tests of lme4's, R's and brglm2's fits
# for all others. Rscript decisions.R DATA.csv FORMULA FAMILY; the last line is JSON: term, p.
suppressMessages({library(lme4); library(afex); library(emmeans); library(brglm2); library(jsonlite)})
arguments <- commandArgs(trailingOnly = TRUE)
data <- read.csv(arguments[1], stringsAsFactors = TRUE)
formula <- as.formula(arguments[2])
family <- arguments[3]
mixed <- grepl("|", arguments[2], fixed = TRUE)
for (name in all.vars(formula)[-1]) {
  if (is.numeric(data[[name]])) data[[name]] <- data[[name]] - mean(data[[name]])
}
options(contrasts = c("contr.sum", "contr.poly"))
if (family == "gaussian" && mixed) {
  table <- suppressMessages(mixed(formula, data, method = "S", progress = FALSE))$anova_table
  found <- list(term = rownames(table), p = table[["Pr(>F)"]])
} else {
  model <- if (mixed) {
    glmer(formula, data, binomial, control = glmerControl(optimizer = "bobyqa", tolPwrss = 1e-10))
  } else if (family == "gaussian") {
    lm(formula, data)
  } else {
    glm(formula, binomial, data, method = "brglmFit", type = "AS_mean", maxit = 1000)
  }
  table <- suppressMessages(as.data.frame(joint_tests(model, data = data)))
  found <- list(term = trimws(table[["model term"]]), p = table[["p.value"]])
}
cat(toJSON(found, digits = I(10), auto_unbox = FALSE), "\n")

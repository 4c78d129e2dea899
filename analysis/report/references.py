"""The works that a report can cite."""

REFERENCES = {
    "benjamini_hochberg": "Benjamini, Y., & Hochberg, Y. (1995). Controlling the false discovery rate: A practical and "
    "powerful approach to multiple testing. Journal of the Royal Statistical Society: Series B, 57, 289-300.",
    "effectsize": "Ben-Shachar, M. S., Lüdecke, D., & Makowski, D. (2020). effectsize: Estimation of effect size "
    "indices and standardized parameters. Journal of Open Source Software, 5(56), 2815.",
    "bonett_price": "Bonett, D. G., & Price, R. M. (2012). Adjusted Wald confidence interval for a difference of "
    "binomial proportions based on paired data. Journal of Educational and Behavioral Statistics, 37, 479-488.",
    "brier": "Brier, G. W. (1950). Verification of forecasts expressed in terms of probability. Monthly Weather "
    "Review, 78, 1-3.",
    "brocker_smith": "Bröcker, J., & Smith, L. A. (2007). Increasing the reliability of reliability diagrams. Weather "
    "and Forecasting, 22, 651-661.",
    "brown": "Brown, W. (1910). Some experimental results in the correlation of mental abilities. British Journal of "
    "Psychology, 3, 296-322.",
    "clopper_pearson": "Clopper, C. J., & Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated "
    "in the case of the binomial. Biometrika, 26, 404-413.",
    "cochran": "Cochran, W. G. (1977). Sampling techniques (3rd ed.). Wiley.",
    "cochran_q": "Cochran, W. G. (1950). The comparison of percentages in matched samples. Biometrika, 37, 256-266.",
    "cameron": "Cameron, A. C., Gelbach, J. B., & Miller, D. L. (2011). Robust inference with multiway clustering. "
    "Journal of Business & Economic Statistics, 29, 238-249.",
    "cohen_kappa": "Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological "
    "Measurement, 20, 37-46.",
    "cohen": "Cohen, J. (1988). Statistical power analysis for the behavioral sciences (2nd ed.). Erlbaum.",
    "delacre": "Delacre, M., Lakens, D., Ley, C., Liu, L., & Leys, C. (2021). Why Hedges' g*s based on the non-pooled "
    "standard deviation should be reported with Welch's t-test. PsyArXiv.",
    "delong": "DeLong, E. R., DeLong, D. M., & Clarke-Pearson, D. L. (1988). Comparing the areas under two or more "
    "correlated receiver operating characteristic curves: A nonparametric approach. Biometrics, 44, 837-845.",
    "ernst": "Ernst, M. D. (2004). Permutation methods: A basis for exact inference. Statistical Science, 19, 676-685.",
    "error_consistency": "Geirhos, R., Meding, K., & Wichmann, F. A. (2020). Beyond accuracy: Quantifying "
    "trial-by-trial behaviour of CNNs and humans by measuring error consistency. Advances in Neural Information "
    "Processing Systems, 33.",
    "firth": "Firth, D. (1993). Bias reduction of maximum likelihood estimates. Biometrika, 80, 27-38.",
    "fisher_z": "Fisher, R. A. (1921). On the probable error of a coefficient of correlation deduced from a small "
    "sample. Metron, 1, 3-32.",
    "fleiss": "Fleiss, J. L. (1971). Measuring nominal scale agreement among many raters. Psychological Bulletin, 76, "
    "378-382.",
    "frary": "Frary, R. B. (1988). Formula scoring of multiple-choice tests (correction for guessing). Educational "
    "Measurement: Issues and Practice, 7(2), 33-38.",
    "glmm": "Lenartowicz, P. (2026). glmm: Mixed-model fitting in Rust, Python and R [Computer software].",
    "greenhouse_geisser": "Greenhouse, S. W., & Geisser, S. (1959). On methods in the analysis of profile data. "
    "Psychometrika, 24, 95-112.",
    "hautus": "Hautus, M. J. (1995). Corrections for extreme proportions and their biasing effects on estimated values "
    "of d'. Behavior Research Methods, Instruments, & Computers, 27, 46-51.",
    "holm": "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of "
    "Statistics, 6, 65-70.",
    "jackknife": "Efron, B., & Tibshirani, R. J. (1993). An introduction to the bootstrap. Chapman & Hall.",
    "jzs": "Rouder, J. N., Speckman, P. L., Sun, D., Morey, R. D., & Iverson, G. (2009). Bayesian t tests for "
    "accepting and rejecting the null hypothesis. Psychonomic Bulletin & Review, 16, 225-237.",
    "kerby": "Kerby, D. S. (2014). The simple difference formula: An approach to teaching nonparametric correlation. "
    "Comprehensive Psychology, 3, 11.IT.3.1.",
    "kish": "Kish, L. (1965). Survey sampling. Wiley.",
    "korn_graubard": "Korn, E. L., & Graubard, B. I. (1998). Confidence intervals for proportions with small expected "
    "number of positive counts estimated from survey data. Survey Methodology, 24, 193-201.",
    "kraemer": "Kraemer, H. C. (1980). Extension of the kappa coefficient. Biometrics, 36, 207-216.",
    "krippendorff": "Krippendorff, K. (2019). Content analysis: An introduction to its methodology (4th ed.). Sage.",
    "lo_andrews": "Lo, S., & Andrews, S. (2015). To transform or not to transform: Using generalized linear mixed "
    "models to analyse reaction time data. Frontiers in Psychology, 6, 1171.",
    "mann_whitney": "Mann, H. B., & Whitney, D. R. (1947). On a test of whether one of two random variables is "
    "stochastically larger than the other. Annals of Mathematical Statistics, 18, 50-60.",
    "mccullagh": "McCullagh, P. (1980). Regression models for ordinal data. Journal of the Royal Statistical Society: "
    "Series B, 42, 109-142.",
    "mcnemar": "McNemar, Q. (1947). Note on the sampling error of the difference between correlated proportions or "
    "percentages. Psychometrika, 12, 153-157.",
    "mover": "Zou, G. Y., & Donner, A. (2008). Construction of confidence limits about effect measures: A general "
    "approach. Statistics in Medicine, 27, 1693-1702.",
    "mover_correlated": "Zou, G. Y. (2007). Toward using confidence intervals to compare correlations. Psychological "
    "Methods, 12, 399-413.",
    "mover_ratio": "Donner, A., & Zou, G. Y. (2012). Closed-form confidence intervals for functions of the normal mean "
    "and standard deviation. Statistical Methods in Medical Research, 21, 347-359.",
    "murphy": "Murphy, A. H. (1973). A new vector partition of the probability score. Journal of Applied Meteorology, "
    "12, 595-600.",
    "naeini": "Naeini, M. P., Cooper, G. F., & Hauskrecht, M. (2015). Obtaining well calibrated probabilities using "
    "Bayesian binning. Proceedings of the AAAI Conference on Artificial Intelligence, 29, 2901-2907.",
    "nakagawa": "Nakagawa, S., Johnson, P. C. D., & Schielzeth, H. (2017). The coefficient of determination R2 and "
    "intra-class correlation coefficient from generalized linear mixed-effects models revisited and expanded. Journal "
    "of the Royal Society Interface, 14, 20170213.",
    "olejnik_algina": "Olejnik, S., & Algina, J. (2003). Generalized eta and omega squared statistics: Measures of "
    "effect size for some common research designs. Psychological Methods, 8, 434-447.",
    "normalized": "Mnih, V., Kavukcuoglu, K., Silver, D., Rusu, A. A., Veness, J., Bellemare, M. G., … Hassabis, D. "
    "(2015). Human-level control through deep reinforcement learning. Nature, 518, 529-533.",
    "phipson_smyth": "Phipson, B., & Smyth, G. K. (2010). Permutation p-values should never be zero: Calculating exact "
    "p-values when permutations are randomly drawn. Statistical Applications in Genetics and Molecular Biology, 9, 39.",
    "satterthwaite": "Satterthwaite, F. E. (1946). An approximate distribution of estimates of variance components. "
    "Biometrics Bulletin, 2, 110-114.",
    "jeffreys": "Jeffreys, H. (1961). Theory of probability (3rd ed.). Oxford University Press.",
    "schuirmann": "Schuirmann, D. J. (1987). A comparison of the two one-sided tests procedure and the power approach "
    "for assessing the equivalence of average bioavailability. Journal of Pharmacokinetics and Biopharmaceutics, 15, "
    "657-680.",
    "smithson": "Smithson, M. (2003). Confidence intervals. Sage.",
    "spearman": "Spearman, C. (1910). Correlation calculated from faulty data. British Journal of Psychology, 3, "
    "271-295.",
    "steiger": "Steiger, J. H. (2004). Beyond the F test: Effect size confidence intervals and tests of close fit in "
    "the analysis of variance and contrast analysis. Psychological Methods, 9, 164-182.",
    "stephenson": "Stephenson, D. B., Coelho, C. A. S., & Jolliffe, I. T. (2008). Two extra components in the Brier "
    "score decomposition. Weather and Forecasting, 23, 752-757.",
    "tukey": "Tukey, J. W. (1949). Comparing individual means in the analysis of variance. Biometrics, 5, 99-114.",
    "welch": "Welch, B. L. (1947). The generalization of Student's problem when several different population variances "
    "are involved. Biometrika, 34, 28-35.",
    "wilcoxon": "Wilcoxon, F. (1945). Individual comparisons by ranking methods. Biometrics Bulletin, 1, 80-83.",
    "wilson": "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. Journal of "
    "the American Statistical Association, 22, 209-212.",
}


def references(keys: set[str]) -> list[str]:
    """Return the works with these keys in alphabetical order."""
    return sorted(REFERENCES[key] for key in keys)

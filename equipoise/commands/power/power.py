"""Find the power of a study, or the number of participants that it needs, from simulated responses."""

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from analysis.data.columns import is_graded
from analysis.exclusions.flow import marked_trials
from analysis.measures.accuracy import item_counts, kept_trials
from analysis.output_files import csv_bytes
from analysis.power.comparisons import StoredModel
from analysis.power.simulated_responses import Effect, Population
from batteries.errors import InputError
from batteries.files.atomic_folder import MANIFEST, write_together
from equipoise.commands.power.report import power_figure, report
from equipoise.commands.power.request import Request, checked_ns, parsed_effects, parsed_model, refuse_invalid
from equipoise.commands.power.simulator import Simulator
from equipoise.commands.store_access import StudyFolder, loaded
from equipoise.commands.study_trials import may_have_responses, study_trials
from experiment.study.definition import Study
from server.locations import store_location, without_password
from server.settings import read_settings


def power(
    study: StudyFolder,
    effects: Sequence[str | Effect] | str | Effect = (),
    *,
    test: str | None = None,
    model: str | None = None,
    term: str | None = None,
    against_model: float | str | None = None,
    comparison: str | None = None,
    equivalence: bool = False,
    accuracy: float | None = None,
    participant_sd: float = 1.0,
    item_sd: float = 0.5,
    item_columns: Sequence[str] = (),
    ns: Sequence[int] = (),
    powers: Sequence[float] = (0.8, 0.9),
    largest_n: int = 1_000,
    simulations: int = 1_000,
    alpha: float | None = None,
    excluded: float = 0.0,
    seed: int = 1,
    store: str | None = None,
    output: Path | str | None = None,
) -> str:
    """Simulate and analyze responses to a study's test items. Report the power, or how many participants a power needs.

    Parameters
    ----------
    study
        The study or its folder.
    effects
        One effect or several effects. An effect such as `condition=B,inference_level=3:-0.15` is a difference that is
        added to `accuracy` in trials with these levels. If several effects apply to a trial, their differences are
        added. At least one effect is needed, except with `against_model` or `equivalence`.
    test
        Name of a test in the analysis plan; by default a paired t test of the first effect.
    model
        Name of a mixed model in the analysis plan, instead of a test.
    term
        Term or coefficient of the mixed model; by default the only term of the model. With `comparison`, a level of
        each of the comparison's factors, such as `condition=B`.
    against_model
        To compare people with a language model: the accuracy of the model, such as 0.75. Or the name of a model in the
        report, to use its stored responses.
    comparison
        Name of a comparison in the analysis plan, for `against_model`; by default the comparison over all items.
    equivalence
        True to report the power to show equivalence, with the `equivalence_margin` of the test or comparison. Without
        effects, the true difference is 0.
    accuracy
        People's accuracy in the population before the effects are added, between 0 and 1. By default 0.8. If
        `equivalence` compares people with a model or a number, the default is the model's accuracy, or the number.
    participant_sd, item_sd
        Standard deviations of participants and of items in log-odds, from 0 to 5.
    item_columns
        Factors that identify an item, such as `["scenario", "version"]`; by default `item_id`.
    ns
        Numbers of participants to try. If empty, the function searches for the smallest number for each of `powers`.
    powers
        The powers to reach, more than `alpha` and less than 1.
    largest_n
        Largest number of participants in the search.
    simulations
        Number of simulated studies for each number of participants, at least 20.
    alpha
        Level of significance, two-sided, between 0 and 1. By default 1 minus the `confidence` of the analysis plan, so
        usually 0.05.
    excluded
        Probability that a participant is excluded from the analysis: 0 or more, and less than 1.
    seed
        Seed of the simulated responses.
    store
        The store with the responses of the model: a file, or the address of a database. By default `EQUIPOISE_STORE`,
        or the file in the study's folder.
    output
        Folder for power.csv and power.svg; by default no file is written.

    Returns
    -------
    str
        The report as lines of text.

    Raises
    ------
    InputError
        If an argument is invalid, or does not fit the design or the plan of the study.
    """
    study = loaded(study)
    population = Population(participant_sd, item_sd, tuple(item_columns) or ("item_id",), excluded)
    request = Request(
        parsed_effects(effects), accuracy, population, checked_ns(ns), tuple(sorted(set(powers))),
        checked_ns([largest_n])[0], simulations,
        round(1 - study.definition.analysis.confidence, 12) if alpha is None else alpha,
        seed, test, model, term, comparison, parsed_model(against_model), equivalence,
    )  # fmt: skip
    refuse_invalid(request)
    if output is not None:
        output = Path(output)
        _refuse_results_of_analysis(output)
    simulator = Simulator(study, request, _compared_model(study, request, store))
    studies = simulator.requested_sizes() if request.ns else simulator.searched_sizes()
    said = report(request, studies)
    if output is not None:
        about = {
            "power": {
                "study": study.name, "version": study.definition.version, "study_digest": study.digest,
                "software": f"equipoise {version('equipoise')}", "request": asdict(request), "said": said.splitlines(),
            }
        }  # fmt: skip
        figure = power_figure(request, studies)
        files = {"power.csv": csv_bytes(studies.table), "power.svg": figure.svg.encode()}
        write_together(output, files, about)
        said += f"\nWritten to {output}: {' and '.join(files)}."
    return said


def _compared_model(study: Study, request: Request, location: str | None) -> float | StoredModel | None:
    """Return the model of the request: its accuracy or its stored responses; None if the request names no model."""
    name, plan = request.against_model, study.definition.analysis
    if not isinstance(name, str):
        return name
    store = store_location(study, read_settings(store=location))
    if not may_have_responses(store):
        raise InputError(
            f"{without_password(store)}: there are no responses yet. Fix: import or run the model first, or give the "
            "model's accuracy as a number."
        )
    kept = kept_trials(marked_trials(study_trials(study, store), plan))
    models = kept[(kept["kind"] == "model") & is_graded(kept)]
    asked = models[models["subject"] == name]
    if asked.empty:
        known = ", ".join(f"`{subject}`" for subject in sorted(models["subject"].unique()))
        raise InputError(
            f"the store has no responses of a model `{name}`. Fix: "
            + (f"name one of {known}." if known else "give the model's accuracy as a number, such as 0.75.")
        )
    return StoredModel(name, item_counts(asked, plan))


def _refuse_results_of_analysis(output: Path) -> None:
    """Raise an InputError if a folder has results of `equipoise analyze`, because these results would be removed."""
    manifest = output / MANIFEST
    if manifest.is_file() and '"power"' not in manifest.read_text(encoding="utf-8", errors="replace")[:200]:
        raise InputError(f"{output}: this folder contains the results of an analysis. Fix: choose another folder.")

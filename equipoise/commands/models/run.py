"""`equipoise models run`: run language models and computational baselines."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from batteries.errors import InputError
from equipoise.commands.models.storing import add_runs, checked_cutoff, run_summary
from equipoise.commands.store_access import StoreAddress, StudyFolder, loaded
from equipoise.progress_bar import noted_progress
from experiment.models.baselines import run_baseline
from experiment.models.prompts.media import Pictures
from experiment.models.prompts.requests import requests_for
from experiment.models.runs.run_model import run_model
from experiment.models.runs.settings import MAX_RETRIES, RunSettings, checked_prices, folder_of


def models_run(
    study: StudyFolder,
    model: str,
    store: StoreAddress | None = None,
    temperature: Sequence[float] | float = (),
    epochs: int = 1,
    style: Path | str | None = None,
    shots: int = 0,
    max_tokens: int | None = None,
    group: int | None = None,
    seed: int | None = None,
    whole_session: bool = False,
    limit: int | None = None,
    max_connections: int | None = None,
    max_retries: int = MAX_RETRIES,
    max_cost: float | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    training_cutoff: str | None = None,
    pictures: Pictures = "sent",
) -> list[str]:
    """Run a language model or a computational baseline on the test items of a study, and store its responses.

    Each reply of a language model is kept on disk as soon as it arrives, in the folder `data/model-runs` of the study.
    A second call asks only for the missing replies. Each temperature and epoch (repetition) is one run. A run is stored
    when it has a reply to each item.

    Parameters
    ----------
    study
        The study or its folder.
    model
        Name of a language model in the package inspect-ai, such as `openai/gpt-4.1`. Or the name of a baseline:
        `baseline/straight-line`, `baseline/nearest-atom` or `baseline/tracer`.
    store
        File or database address of the store. By default `EQUIPOISE_STORE`, or the file in the study's folder.
    temperature
        The sampling temperatures. By default, the requests do not set a temperature.
    epochs
        Number of repetitions of each request.
    style
        Name of a style, or a template file, for the prompts. By default `three-lines` for multiple choice, and
        `baseline` for Black Box.
    shots
        Number of solved practice items in each prompt.
    max_tokens
        Limit of a reply, in tokens. The default is 512. For styles and OpenAI models with reasoning, the default is
        2048.
    group, seed
        Group and seed of one session, to ask only the test items of this session. By default, all test items of the
        battery are asked.
    whole_session
        True to run the session as one conversation, in the order of its plan. The conversation includes one round of
        practice and the attention checks. Each request contains the model's earlier replies. The model responds to the
        practice items, and gets the feedback that people get. The default style is then `human-equivalent`. By default,
        each request contains one item and no earlier replies.
    limit
        Number of items to ask, for a first try. The replies are kept, but no run is stored.
    max_connections
        Number of requests at the same time. By default, the package inspect-ai chooses the number.
    max_retries
        Number of times that a failed request is sent again.
    max_cost
        Limit of the price of all replies, in USD. No request is sent that could exceed this limit.
    price_in, price_out
        Prices of the model for prompts and replies, in USD per million tokens.
    training_cutoff
        Month or day at which the training data of the model end, such as `2024-06`. It is stored with each new run.
    pictures
        `sent` to send pictures, sounds and videos as files, or `described` to send their descriptions (`alt`).

    Returns
    -------
    list of str
        One sentence on each run, and a sentence with the number of tokens.

    Raises
    ------
    InputError
        If the model is unknown, an argument is invalid, or a run is incomplete. Complete runs are stored before the
        error is raised.
    """
    study = loaded(study)
    temperatures = [temperature] if isinstance(temperature, (int, float)) else temperature
    cutoff = checked_cutoff(training_cutoff)
    if model.startswith("baseline/"):
        _refuse_options(
            model,
            temperature=len(temperatures) > 0, epochs=epochs != 1, style=style is not None, shots=shots != 0,
            max_tokens=max_tokens is not None, group=group is not None, seed=seed is not None,
            whole_session=whole_session, limit=limit is not None, max_connections=max_connections is not None,
            max_retries=max_retries != MAX_RETRIES,
            max_cost=max_cost is not None, price_in=price_in is not None, price_out=price_out is not None,
            training_cutoff=cutoff is not None, pictures=pictures != "sent",
        )  # fmt: skip
        return add_runs(study, [run_baseline(study, model)], store)
    provider, _, name = model.partition("/")
    if not provider or not name:
        raise InputError(
            f"--model {model}: this is not a model's name. Fix: write PROVIDER/NAME, such as openai/gpt-4.1 or "
            "baseline/tracer."
        )
    for option, number, least in (
        ("--limit", limit, 1), ("--max-tokens", max_tokens, 1), ("--max-connections", max_connections, 1),
        ("--max-retries", max_retries, 0),
    ):  # fmt: skip
        if number is not None and number < least:
            raise InputError(f"{option} {number}: the number is too small. Fix: use {least} or a larger number.")
    prices = checked_prices(price_in, price_out, max_cost)
    requests = requests_for(
        study,
        style=None if style is None else str(style),
        shots=shots,
        temperatures=temperatures,
        epochs=epochs,
        group=group,
        seed=seed,
        whole_session=whole_session,
        pictures=pictures,
    )
    if requests.pictures == "sent" and max_cost is not None:
        raise InputError(
            "--max-cost: the price of pictures, sounds and videos is not known before they are sent. Fix: leave out "
            "--max-cost, or use --pictures described."
        )
    is_whole = limit is None or limit >= len(requests.items)
    settings = RunSettings(
        model=model,
        requests=requests if is_whole else replace(requests, items=requests.items[:limit]),
        folder=folder_of(study.folder / "data", model),
        max_tokens=max_tokens,
        group=group,
        seed=seed,
        n_all_items=len(requests.items),
        max_connections=max_connections,
        max_retries=max_retries,
        prices=prices,
        max_cost=max_cost,
    )
    with noted_progress(f"Asking {model}", len(settings.requests)) as advance:
        result = run_model(settings, advance, n_total=len(requests))
    if is_whole:
        sentences = add_runs(study, result.runs, store, cutoff) if result.runs else []
    else:
        sentences = [f"{run.run}: {run_summary(study, run)}" for run in result.runs]
        sentences.append(
            f"With --limit {limit}, no run is stored. The replies are kept. Fix: run the command "
            "without --limit to ask the other items and to store the run."
        )
    usage = f"{result.usage} {result.price_to_come}".rstrip()
    if result.incomplete:
        n, n_complete = len(requests.temperatures) * epochs, len(result.runs)
        reasons = " ".join(result.incomplete)
        raise InputError(f"--model {model}: complete runs: {n_complete} of {n}. {usage} {reasons}")
    return [*sentences, usage]


def _refuse_options(model: str, **given: bool) -> None:
    names = ", ".join(f"--{name.replace('_', '-')}" for name, is_given in given.items() if is_given)
    if names:
        raise InputError(f"{model}: a baseline does not use {names}. Fix: leave these options out.")

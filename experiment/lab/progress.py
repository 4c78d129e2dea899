"""Progress of a session: the next trial, and the progress that the participant sees."""

from batteries.errors import InputError
from batteries.stimulus.shown import shown_content
from experiment.lab_api import OpenSession, PracticeResult
from experiment.pages_between_trials import block_instructions, break_positions
from experiment.plan import Phase, Plan, Trial, plan_session
from experiment.study.definition import Study
from experiment.study.event_codes import BlockLevel
from experiment.texts import Texts


class SessionProgress:
    """Progress of a participant through the plan of a session.

    Parameters
    ----------
    study, plan
        The study, and the plan of the session.
    next_trial_index
        Index of the trial to resume at.
    """

    def __init__(self, study: Study, plan: Plan, next_trial_index: int) -> None:
        self.next_trial_index = next_trial_index
        self.practice: PracticeResult | None = None
        """Result of the last completed round of practice.

        None before the first result, or if the study has no practice criterion.
        """
        self._trials = plan.trials
        self._words: Texts = study.words
        self._n_in_round = len(study.definition.practice)
        self._n_practice = sum(trial.phase is Phase.PRACTICE for trial in plan.trials)
        self.n_questions = len(plan.trials) - self._n_practice
        self._items, self._blocks = study.battery.by_id, study.definition.blocks
        planned = [(trial.phase, self._items[trial.item_id]) for trial in plan.trials]
        self._breaks = break_positions(study.definition, planned)
        self._block_instructions = block_instructions(study.definition, planned)

    @property
    def trial(self) -> Trial | None:
        """The next trial; None after the last trial."""
        return self._trials[self.next_trial_index] if self.next_trial_index < len(self._trials) else None

    def n_questions_before(self, trial: Trial) -> int:
        """Return the number of trials before a trial. Practice trials are not counted."""
        return max(0, trial.trial_index - self._n_practice)

    def begins_further_round(self, trial: Trial) -> bool:
        """Return True if a trial is the first trial of the second or a later round of practice."""
        return trial.phase is Phase.PRACTICE and trial.trial_index > 0 and trial.trial_index % self._n_in_round == 0

    def comes_after_break(self, trial: Trial) -> bool:
        """Return True if there is a break before a trial."""
        return trial.trial_index in self._breaks

    def block_before(self, trial: Trial, is_first_of_visit: bool) -> tuple[BlockLevel, tuple[str, ...]] | None:
        """Return the block that a trial begins, and the files with its instructions; None within a block.

        At the first trial of a visit, return the current block.
        """
        begun = [index for index in self._block_instructions if index <= trial.trial_index]
        if self._blocks is None or not begun or (begun[-1] != trial.trial_index and not is_first_of_visit):
            return None
        level = self._items[self._trials[begun[-1]].item_id].factors[self._blocks.of]
        return BlockLevel(self._blocks.of, level), self._block_instructions[begun[-1]]

    def advance(self, practice: PracticeResult | None) -> None:
        """Move to the next trial.

        After a round of practice, its result (`practice`) decides whether another round follows.
        """
        self.next_trial_index += 1
        if practice is not None:
            self.practice = practice
            self.next_trial_index = len(self._trials) if practice.ended else practice.next_trial_index

    @property
    def practice_is_over(self) -> bool:
        """True if the next trial is not practice."""
        return self.trial is None or self.trial.phase is not Phase.PRACTICE

    def position(self, trial: Trial) -> str:
        """Return the position of a trial as text for the participant, such as `Question 3 of 24`."""
        if trial.phase is Phase.PRACTICE:
            number = trial.trial_index % self._n_in_round + 1
            text = "practice_of" if self._n_in_round > 1 else "practice"
            return self._words.say(text, number=number, total=self._n_in_round)
        return self._words.say("question_of", number=self.n_questions_before(trial) + 1, total=self.n_questions)

    @property
    def n_answered(self) -> tuple[int, int]:
        """Number of completed trials, and number of all trials. Only one round of practice is counted."""
        total = self._n_in_round + self.n_questions
        if self.trial is None:
            return total, total
        if self.trial.phase is Phase.PRACTICE:
            return self.trial.trial_index % self._n_in_round, total
        return self._n_in_round + self.n_questions_before(self.trial), total


def plan_of(study: Study, session: OpenSession) -> Plan:
    """Make the plan of a session, check that it equals the stored plan, and return it.

    Raises
    ------
    InputError
        If the plans differ. Without this check, responses could be stored with items that the participant did not see.
    """
    plan = plan_session(study, session.group, session.seed)
    # The server does not reveal which questions are attention checks.
    by_id, definition = study.battery.by_id, study.definition
    items = [definition.with_response_keys(by_id[trial.item_id], session.group) for trial in plan.trials]
    here = [
        (trial.phase is Phase.PRACTICE, shown_content(item.content))
        for trial, item in zip(plan.trials, items, strict=True)
    ]
    if here != [(trial.phase is Phase.PRACTICE, trial.content) for trial in session.trials]:
        raise InputError(
            f"{study.folder / 'study.yaml'}: the trials of this session, as computed now, differ from the trials that "
            "were stored at its start. Fix: resume with the version of Equipoise and of the study with which the "
            "session began."
        )
    return plan

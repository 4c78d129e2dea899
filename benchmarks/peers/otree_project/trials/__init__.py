"""26 trials, each a page with four options."""
# ruff: noqa: D101, RUF012 - classes and lists as oTree has them

from otree.api import BaseConstants, BaseGroup, BasePlayer, BaseSubsession, Page, models, widgets


class C(BaseConstants):
    NAME_IN_URL = "trials"
    PLAYERS_PER_GROUP = None
    NUM_ROUNDS = 26


class Subsession(BaseSubsession):
    pass


class Group(BaseGroup):
    pass


class Player(BasePlayer):
    choice = models.IntegerField(choices=[0, 1, 2, 3], widget=widgets.RadioSelect)


class Trial(Page):
    form_model = "player"
    form_fields = ["choice"]


page_sequence = [Trial]

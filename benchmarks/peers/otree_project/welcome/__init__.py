"""Consent, before the trials."""
# ruff: noqa: D101, RUF012 - classes and lists as oTree has them

from otree.api import BaseConstants, BaseGroup, BasePlayer, BaseSubsession, Page, models, widgets


class C(BaseConstants):
    NAME_IN_URL = "welcome"
    PLAYERS_PER_GROUP = None
    NUM_ROUNDS = 1


class Subsession(BaseSubsession):
    pass


class Group(BaseGroup):
    pass


class Player(BasePlayer):
    consent = models.BooleanField(choices=[[True, "I agree."], [False, "I do not agree."]], widget=widgets.RadioSelect)


class Consent(Page):
    form_model = "player"
    form_fields = ["consent"]


page_sequence = [Consent]

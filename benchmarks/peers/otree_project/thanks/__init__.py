"""The end, after the trials."""
# ruff: noqa: D101 - classes and lists as oTree has them

from otree.api import BaseConstants, BaseGroup, BasePlayer, BaseSubsession, Page


class C(BaseConstants):
    NAME_IN_URL = "thanks"
    PLAYERS_PER_GROUP = None
    NUM_ROUNDS = 1


class Subsession(BaseSubsession):
    pass


class Group(BaseGroup):
    pass


class Player(BasePlayer):
    pass


class Thanks(Page):
    pass


page_sequence = [Thanks]

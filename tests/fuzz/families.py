"""All families by name: what each draws, how each is checked, and how often it comes."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import classifiers, edits, policies
from .case import Case


@dataclass(frozen=True)
class Family:
    """Draws cases and checks them; a check that fails raises."""

    draw: Callable[[np.random.Generator], Case]
    check: Callable[[Case], None]
    share: int
    """How many cases of it come with so many of the others."""


def _draw_zeros(rng: np.random.Generator) -> Case:
    return classifiers.draw_labelled(rng, weights=("zeros",))


FAMILIES = {
    "plain": Family(classifiers.draw_labelled, classifiers.check_proved, 70),
    "frames": Family(classifiers.draw_frame, classifiers.check_frame, 30),
    "categories": Family(classifiers.draw_categorical, classifiers.check_proved, 30),
    "ties": Family(classifiers.draw_ties, classifiers.check_proved, 40),
    "class weights": Family(classifiers.draw_class_weight, classifiers.check_proved, 20),
    "few thresholds": Family(classifiers.draw_thresholds, classifiers.check_proved, 20),
    "zero weights": Family(_draw_zeros, classifiers.check_zero_weights, 20),
    "extremes": Family(classifiers.draw_extreme, classifiers.check_extreme, 25),
    "stops": Family(classifiers.draw_stopped, classifiers.check_stopped, 25),
    "weighing": Family(classifiers.draw_method, classifiers.check_method, 30),
    "reference": Family(classifiers.draw_reference, classifiers.check_reference, 25),
    "guesses": Family(classifiers.draw_guess, classifiers.check_guess, 1),
    "path": Family(classifiers.draw_path, classifiers.check_path, 30),
    "round trips": Family(classifiers.draw_roundtrip, classifiers.check_roundtrip, 20),
    "certificates": Family(classifiers.draw_certificate, classifiers.check_certificate, 20),
    "edits": Family(edits.draw_edited, edits.check_edited, 30),
    "policy": Family(policies.draw_policy, policies.check_policy, 30),
    "named actions": Family(policies.draw_policy, policies.check_named_actions, 5),
    "policy path": Family(policies.draw_policy_path, policies.check_policy_path, 15),
    "budget": Family(policies.draw_budget, policies.check_budget, 20),
    "stopped budget": Family(policies.draw_stopped_budget, policies.check_budget, 10),
    "policy extremes": Family(policies.draw_extreme, policies.check_extreme, 10),
    "budget curve": Family(policies.draw_curve, policies.check_curve, 10),
}


def draw(name: str, seed: int) -> Case:
    """The case of a family and a seed."""
    return FAMILIES[name].draw(np.random.default_rng([zlib.crc32(name.encode()), seed]))


def check(name: str, case: Case) -> None:
    """Raises where the package and the enumeration disagree; a warning that nobody expects is an error too."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FAMILIES[name].check(case)

"""`certree verify`: a certificate checked against a table, without the engine; on request the bound is proved again."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from textwrap import wrap
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from certree import certify
from certree.cli.exits import DONE, FAILED, LIMITED
from certree.cli.inputs import find_action, name_amounts, read_amounts, read_labels, read_weights
from certree.cli.models import open_model, read_target
from certree.cli.options import add_example, add_model, add_table
from certree.cli.outputs import warnings_on_standard_error
from certree.policy import PolicyTree
from certree.prove import Proof, prove
from certree.table import Table
from certree.tree import Tree

PROOF_SECONDS = 60.0
ANOTHER_TABLE = (
    "this is not the table that the model was fitted on, or it was read in another way: give the same --label or\n"
    "--rewards, --weight, --missing, --drop-missing, --separator and --decimal as in the fit"
)


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "verify",
        help="check a certificate against a table, without the engine",
        description="Everything that the table determines is computed again, without the engine. That no tree is "
        "better is taken on trust, unless --prove searches again in another way. Exit codes: 0 it holds, 1 it does "
        "not, 3 what was recomputed holds and the limit ended the proof, 2 wrong usage or bad input.",
    )
    add_model(parser)
    add_table(parser, may_have_rewards=True)
    parser.add_argument(
        "--prove",
        action="store_true",
        help="also prove the bound again, by a search with closed forms and other shortcuts switched off",
    )
    parser.add_argument(
        "--time-limit", type=float, default=PROOF_SECONDS, metavar="SECONDS",
        help=f"the time for the proof (default {PROOF_SECONDS:g})",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="the number of threads for the proof; -1 for all (default 1)"
    )
    add_example(parser, "certree verify model.json people.csv --label bought --weight value --prove")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    model, table, X = open_model(options)
    tree, certificate = model.tree_, model.certificate_
    is_policy = isinstance(model, PolicyTree)
    facts = read_policy_facts(table, tree, options) if is_policy else read_target(options, table)
    verdict = certify.check(certificate, tree, X, **facts)
    print(f"recomputed from {options.data}, without the engine:")
    for line in describe_amounts(certificate, tree, verdict):
        print(f"  {line}")
    for failure in verdict.failures:
        print(f"  wrong        {failure}")
    if not verdict.holds:
        if any("SHA-256" in failure for failure in verdict.failures):
            print(ANOTHER_TABLE)
        print("the certificate does not hold")
        return FAILED
    started = time.perf_counter()
    proof = None
    if options.prove:
        with warnings_on_standard_error():
            proof = prove(
                certificate, tree, X, **facts, time_limit=options.time_limit, n_threads=effective_n_jobs(options.jobs)
            )
    return report(certificate, verdict, proof, time.perf_counter() - started)


def describe_amounts(certificate: Mapping[str, Any], tree: Tree, verdict: certify.Verdict) -> list[str]:
    """What was computed, beside what is stated, in the units that `fit`, `policy` and `show` use."""
    if verdict.value is not None and "policy" in certificate:
        stated = certificate["policy"]
        objective = verdict.value - certificate["regularization"] * tree.n_leaves
        amounts = {"objective": (objective, stated["objective"]), "mean reward": (verdict.value, stated["value"])}
    else:
        amounts = {
            "objective": (verdict.objective, certificate["objective"]),
            "loss": (verdict.loss, certificate["loss"]),
        }
    lines = [f"{name:<11}  {found:.10g}  (certificate: {stated:.10g})" for name, (found, stated) in amounts.items()]
    identity = "" if "digests" not in certificate else ", and whether it is about this very table (SHA-256)"
    spend = " spend," if "budget" in certificate else ""
    rest = (
        f"also the rows, weights and costs of every node, its tests and columns, the constraints,{spend} sizes, "
        f"rounding and guarantees{identity}"
    )
    return [*lines, *wrap(rest, 110)]


def report(certificate: Mapping[str, Any], verdict: certify.Verdict, proof: Proof | None, seconds: float) -> int:
    """What was proved again, what was taken on someone's word, and so what holds."""
    is_proved = proof is not None and proof.is_proved
    if proof is not None and proof.is_refuted:
        assert proof.better_objective is not None
        print(f"searched again by another route, in {seconds:.3g} s:")
        print(
            f"  wrong        {name_bound(certificate, proof.stated)} is stated, but there is a tree with an objective"
        )
        print(f"               of {in_own_units(certificate, proof.better_objective):.10g}")
        print("the certificate does not hold")
        return FAILED
    if proof is not None:
        print(f"{'proved again' if is_proved else 'searched again'} by another route, in {seconds:.3g} s:")
        print(f"  no tree within the constraints has {name_bound(certificate, min(proof.lower, proof.stated))}")
    trusted = [sentence for sentence in verdict.trusted if not (is_proved and sentence.startswith("that no "))]
    if trusted:
        print("not recomputed, and taken on trust:")
        for sentence in trusted:
            print("\n".join(wrap(sentence, 110, initial_indent="  ", subsequent_indent="    ")))
    if is_proved:
        print("the certificate holds, its bound included")
        return DONE
    if proof is None:
        print("the certificate holds as far as it was recomputed; --prove searches for a better tree as well")
        return DONE
    print("the certificate holds as far as it was recomputed; the proof of its bound was not finished")
    return LIMITED


def name_bound(certificate: Mapping[str, Any], bound: float) -> str:
    side = "above" if "policy" in certificate else "below"
    return f"an objective {side} {in_own_units(certificate, bound):.10g}"


def in_own_units(certificate: Mapping[str, Any], amount: float) -> float:
    """A lower bound of what a policy falls short by is an upper bound of what it brings."""
    if "policy" not in certificate:
        return amount
    objective: float = certificate["policy"]["objective"]
    return objective + (float(certificate["objective"]) - amount)


def read_policy_facts(table: Table, tree: Tree, options: argparse.Namespace) -> dict[str, Any]:
    """What `certify.check` compares a policy with: the rewards, and the arms and spends where there are any."""
    if options.rewards is None:
        raise ValueError(f"{options.model} is a policy: name a column of rewards for each action with --rewards")
    actions = [str(label) for label in tree.labels]
    # Columns that are called as the actions may come in any order.
    names = actions if set(options.rewards) == set(actions) else options.rewards
    if len(names) != len(actions):
        raise ValueError(f"--rewards names {len(names)} columns; the policy's actions are {', '.join(actions)}")
    arms = None
    if options.treatment is not None:
        own = read_labels(table, options, options.treatment).tolist()
        arms = np.array([tree.labels.index(find_action("--treatment", arm, tree.labels)) for arm in own])
    rewards = [read_amounts(table, name, options.data) for name in names]
    return {
        "sample_weight": read_weights(table, options),
        "rewards": np.column_stack(rewards),
        "arms": arms,
        "spends": name_amounts("--spends", options.spends, tree.labels),
    }

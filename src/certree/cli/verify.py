"""`certree verify`: a certificate checked against a table, without the engine."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from certree import certify
from certree.cli.columns import print_columns
from certree.cli.exits import DONE, FAILED
from certree.cli.inputs import (
    find_action,
    load_certified,
    name_amounts,
    pick_columns,
    read_amounts,
    read_data,
    read_labels,
    read_weights,
    text_columns,
)
from certree.cli.options import add_model, add_table
from certree.policy import PolicyTree
from certree.table import Table
from certree.tree import Tree


def add_parser(commands: Any) -> None:
    parser = commands.add_parser("verify", help="check a certificate against a table, without the engine")
    add_model(parser)
    add_table(parser, may_have_rewards=True)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    model = load_certified(options.model)
    tree, certificate = model.tree_, model.certificate_
    has_text_labels = all(isinstance(label, str) for label in tree.labels)
    named = {options.label, options.treatment} - {None} if has_text_labels else set()
    table = read_data(options, {*text_columns(tree), *named})
    X, weights = pick_columns(table, tree, options.data), read_weights(table, options)
    print_columns(options, tree.read(X), [column.kind == "categorical" for column in tree.columns])
    if isinstance(model, PolicyTree):
        facts = read_policy_facts(table, tree, options)
        verdict = certify.check(certificate, tree, X, sample_weight=weights, **facts)
    else:
        if options.label is None:
            raise ValueError(f"{options.model} predicts labels: name their column with --label")
        verdict = certify.check(certificate, tree, X, read_labels(table, options), weights)
    print(f"recomputed from {options.data}, without the engine:")
    print(f"  objective    {verdict.objective:.10g}  (certificate: {certificate['objective']:.10g})")
    print(f"  loss         {verdict.loss:.10g}  (certificate: {certificate['loss']:.10g})")
    if isinstance(model, PolicyTree):
        print("               a policy's loss is what it falls short of the best action of every row")
    for failure in verdict.failures:
        print(f"  wrong        {failure}")
    print("the certificate holds" if verdict.holds else "the certificate does not hold")
    return DONE if verdict.holds else FAILED


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
        "rewards": np.column_stack(rewards),
        "arms": arms,
        "costs": name_amounts("--spends", options.spends, tree.labels),
    }

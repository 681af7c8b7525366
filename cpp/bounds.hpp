// Every lower bound of the search, as a pure function under its inequality, its proof and its conditions.
//
// Notation: opt(S) is the least cost (with λ per leaf) of a tree of the depth at hand on the row set S; costs are >= 0;
// D(A) is the sum over rows of A of the largest cost of the row. Tests: tests/test_oracle.py switches each bound off;
// cpp/tests/test_bounds.cpp checks each inequality against enumeration.
//
// Conditions: a minimum per leaf (rows, weight, rows of an arm) breaks Monotone, and with it Similarity, Interval and
// Group, because restricting a tree to a subset may leave a leaf with too few rows. Difference survives: it uses a tree
// on more rows. With minima lifted all of them hold, and what they then bound costs no more than what meets the minima.
// A limit on the number of leaves breaks none of them.
#pragma once

#include <algorithm>

#include "types.hpp"

namespace certree::bounds {

// Leaf: a tree with a split has at least two leaves, so it costs at least 2λ.
// Proof: costs are non-negative and every leaf pays λ. Conditions: none.
inline Amount split(Amount penalty) {
    return 2 * penalty;
}

// Depth: a tree deeper than d has at least d + 2 leaves, so it costs at least (d + 2) λ.
// Proof: a path of d + 1 splits has d + 1 siblings hanging off it and its own leaf. Conditions: none.
inline Amount deeper_than(int depth, Amount penalty) {
    return times(Amount{depth} + 2, penalty);
}

// Budget: a tree of a set that costs less than a budget is no deeper than this.
// Proof: it pays λ for every leaf, so (leaves) λ < budget, and a tree of m leaves is no deeper than m − 1; what is
// deeper costs no less than deeper_than(d, λ) >= budget. Conditions: none.
inline int deepest_below(Amount budget, int depth, Amount penalty) {
    if (penalty <= 0 || budget >= unreachable) {
        return depth;
    }
    const Amount most_leaves = (std::max<Amount>(budget, 1) - 1) / penalty;
    return static_cast<int>(std::clamp<Amount>(most_leaves - 1, 0, depth));
}

// Price: for λ' >= λ, no tree of at most m leaves costs less at λ than opt(λ') − (λ' − λ) · m.
// Proof: cost + λ · leaves = (cost + λ' · leaves) − (λ' − λ) · leaves >= opt(λ') − (λ' − λ) · m. Conditions: none.
// A price may be of the size of the total: the product saturates, and the bound is then worth nothing.
inline Amount priced(Amount lower_at_price, Amount price_above_penalty, Amount most_leaves) {
    return std::max<Amount>(0, lower_at_price - times(price_above_penalty, most_leaves));
}

// Monotone: S ⊂ S' ⇒ opt(S') >= opt(S).
// Proof: the best tree of S' restricted to S costs no more on S, since the costs of S' \ S are >= 0.
template <class Number>
Number superset(Number lower_of_subset) {
    return lower_of_subset;
}

// Difference: S ⊂ S' ⇒ opt(S) >= opt(S') − D(S' \ S).
// Proof: the best tree of S, used on S', pays at most D(S' \ S) more; so opt(S') <= opt(S) + D(S' \ S).
inline Amount subset(Amount lower_of_superset, Amount largest_cost_of_rest) {
    return lower_of_superset - largest_cost_of_rest;
}

// Similarity: for any two sets, opt(S) >= opt(S') − D(S' \ S).
// Proof: opt(S) >= opt(S ∩ S') (Monotone) >= opt(S') − D(S' \ S) (Difference).
inline Amount similar(Amount lower_of_other, Amount largest_cost_only_in_other) {
    return lower_of_other - largest_cost_only_in_other;
}

// Interval: for thresholds t1 < t < t2 of one ordered axis with sides L and R,
//   v(t) >= max(opt L(t1), opt L(t2) − D(t..t2)) + max(opt R(t2), opt R(t1) − D(t1..t)).
// Proof: L(t1) ⊂ L(t) ⊂ L(t2) and R(t2) ⊂ R(t) ⊂ R(t1); Monotone and Difference on each side.
struct Sides {
    Amount left = 0;
    Amount right = 0;
};
inline Sides interval(const Sides& below, const Sides& above, Amount between_below_and_t, Amount between_t_and_above) {
    return {std::max(superset(below.left), subset(above.left, between_t_and_above)),
            std::max(superset(above.right), subset(below.right, between_below_and_t))};
}

// Group: for a group of neighbouring codes of one ordered axis and a threshold t anywhere inside it,
//   v(t) >= opt(rows before the group) + opt(rows after the group).
// Proof: both are subsets of the sides of t; Monotone.
template <class Number>
Number inside_group(Number lower_before, Number lower_after) {
    return superset(lower_before) + superset(lower_after);
}

// Interval and Difference in gains. The gain of a tree of Q is g = D(Q) − 2 · (its cost), so that a bound on costs is
// one on gains. For thresholds a < t < b of one ordered axis and the best gains of their sides,
//   g(t) <= g_L(a) + g_R(b) + D(a..b)     and     g(t) <= g_L(a) + g_R(a) + 2 · D(a..t), likewise from b.
// Proof: opt L(t) >= opt L(a) and opt R(t) >= opt R(b) (Monotone), and D(L(a)) + D(R(b)) = D(S) − D(a..b). For the
// second, opt R(t) >= opt R(a) − D(a..t) (Difference).
inline Amount gain_between(Amount gain_left_of_a, Amount gain_right_of_b, Amount between_a_and_b) {
    return gain_left_of_a + gain_right_of_b + between_a_and_b;
}
inline Amount gain_near(Amount gain_of_a, Amount between_a_and_t) {
    return gain_of_a + 2 * between_a_and_t;
}

// Group in gains, of stumps of two labels: x, the signed sum of the left side of a test inside a group, lies between
//   least = low_0 + high_1   and   most = high_0 + low_1,
// where low are the sums, by label, of the rows before the group and high those up to its end, and
//   |x| + |all − x| <= max(|least| + |all − least|, |most| + |all − most|).
// Proof: of the group's rows, the left side has at most all of one label and none of the other. |x| + |all − x| is
// convex in x, and so largest at an end. Conditions: none; a minimum only leaves fewer stumps.
inline Amount gain_inside_group(Amount least, Amount most, Amount all) {
    const auto gain = [all](Amount x) { return std::max({all, -all, 2 * x - all, all - 2 * x}); };
    return std::max(gain(least), gain(most));
}

// Side: a tree cheaper than the cap whose one side costs at least so much has another side cheaper than this.
// Proof: v = left + right < cap. Conditions: none.
inline Amount side_budget(Amount cap, Amount lower_of_other_side) {
    return cap - lower_of_other_side;
}

// Deep side: of a tree whose depth is d exactly, one side has depth d − 1 and therefore at least d leaves. With `deep`
// = dλ and bounds l and r of the sides, v >= min(max(l, dλ) + r, l + max(r, dλ)). Proof: the side of depth d − 1 costs
// at least dλ (Depth), whichever it is. Conditions: none; it is of use where all trees of less depth are known, so that
// no others are left. With deep = 0 it is l + r.
inline Amount deep_sum(const Sides& sides, Amount deep) {
    return std::min(std::max(sides.left, deep) + sides.right, sides.left + std::max(sides.right, deep));
}

// Side of a deep tree: as above, and cheaper than the cap: the other side, which costs at least `lower`, leaves this
// one less than the result.
// Proof: if lower + dλ >= cap, this side cannot be the deep one, so the other one is and costs at least max(lower, dλ).
inline Amount deep_side_budget(Amount cap, Amount lower_of_other_side, Amount deep) {
    const bool may_be_deep = lower_of_other_side + deep < cap;
    return side_budget(cap, may_be_deep ? lower_of_other_side : std::max(lower_of_other_side, deep));
}

// Guess: where no tree of S errs by less than the reference model, none costs less than its errors and one penalty.
// Proof: a tree has a leaf. Conditions: the one stated, which nobody checks: what rests on it is "guessed".
inline Amount guess(Amount errors_of_reference, Amount penalty) {
    return errors_of_reference + penalty;
}

}  // namespace certree::bounds

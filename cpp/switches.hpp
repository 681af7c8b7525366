// Every bound, cache and kernel can be switched off; the optimum must not change. This table feeds the enum, the names
// that Python knows, and the tests and the fuzzer, which turn off each entry.
#pragma once

#include <cstdint>

namespace certree {

#define CERTREE_SWITCHES(ENTRY)                                                                                 \
    ENTRY(interval)      /* bounds between neighbouring thresholds */                                           \
    ENTRY(similarity)    /* bounds between any two row sets */                                                  \
    ENTRY(cache)         /* memory of solved subproblems */                                                     \
    ENTRY(leaf_bound)    /* "a split costs at least two penalties" */                                           \
    ENTRY(triples)       /* depth three in closed form */                                                       \
    ENTRY(cells)         /* depth two and three by sums over cells */                                           \
    ENTRY(segment_trees) /* depth two over many distinct values */                                              \
    ENTRY(tables)        /* depth two by tables: segment trees instead */                                       \
    ENTRY(simd)          /* vector kernels */                                                                   \
    ENTRY(fine_grid)     /* 32-bit amounts as fine as can be: a coarse grid instead, and exact checks decide */ \
    ENTRY(test_merging)  /* dropping tests that equal another test */                                           \
    ENTRY(deepening)     /* solving shallower depths first */                                                   \
    ENTRY(relaxation)    /* trying without the leaf limits first */                                             \
    ENTRY(steps)         /* adding rows to a line as steps */                                                   \
    ENTRY(cost_model)    /* weighing closed forms: every one is used wherever it can be */                      \
    ENTRY(coarse)        /* passing over depth-two roots by coarse tables */                                    \
    ENTRY(greedy)        /* starting from a tree grown greedily */                                              \
    ENTRY(rounds)        /* looking at depth-two roots in rounds, as many as intervals leave */                 \
    ENTRY(row_dropping)  /* leaving out rows whose labels all cost the same */

// no_interval, no_similarity and so on: sets of what is off, one bit for each entry in the order of the table.
enum class SwitchPlace : std::uint32_t {
#define CERTREE_PLACE(name) name,
    CERTREE_SWITCHES(CERTREE_PLACE)
#undef CERTREE_PLACE
};
enum Switch : std::uint32_t {
#define CERTREE_BIT(name) no_##name = 1U << static_cast<std::uint32_t>(SwitchPlace::name),
    CERTREE_SWITCHES(CERTREE_BIT)
#undef CERTREE_BIT
};

struct NamedSwitch {
    const char* name;
    Switch off;
};
inline constexpr NamedSwitch all_switches[] = {
#define CERTREE_NAMED(name) {#name, no_##name},
    CERTREE_SWITCHES(CERTREE_NAMED)
#undef CERTREE_NAMED
};

#undef CERTREE_SWITCHES

}  // namespace certree

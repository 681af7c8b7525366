// What is known of a subproblem, by row set and depth. The engine's only hash table; bounded, so it forgets and never
// fails.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "shallow/outcome.hpp"

namespace certree {

class Cache {
public:
    struct Known {
        Amount lower = 0;
        Amount relaxed = 0;
        Amount budget = 0;  // entries below the budget they were solved with are exact
        std::vector<Amount> value;
        std::vector<NodePtr> tree;
        ClosedRoot closed;
    };

    explicit Cache(std::size_t memory_bytes) : most_bytes_(memory_bytes / n_shards) {}

    std::optional<Known> find(const SetKey& key, int depth) const {
        const Shard& shard = shard_of(key);
        const std::lock_guard lock(shard.mutex);
        const auto at = shard.entries.find({key, depth});
        return at == shard.entries.end() ? std::nullopt : std::optional<Known>(at->second);
    }

    // A full shard forgets everything it knew: rare, and no order of use has to be kept.
    void store(const SetKey& key, int depth, Known known) {
        const std::size_t bytes = bytes_of(known);
        if (bytes > most_bytes_) {
            return;
        }
        Shard& shard = shard_of(key);
        const std::lock_guard lock(shard.mutex);
        const auto before = shard.entries.find({key, depth});
        if (before != shard.entries.end()) {
            shard.bytes -= bytes_of(before->second);
            shard.entries.erase(before);
        }
        if (shard.bytes + bytes > most_bytes_) {
            n_forgotten_ += static_cast<std::int64_t>(shard.entries.size());
            shard.entries = {};
            shard.bytes = 0;
        }
        shard.entries.emplace(Place{key, depth}, std::move(known));
        shard.bytes += bytes;
    }

    // What the entries take; never more than the memory given.
    std::size_t bytes() const {
        std::size_t sum = 0;
        for (const Shard& shard : shards_) {
            const std::lock_guard lock(shard.mutex);
            sum += shard.bytes;
        }
        return sum;
    }

    std::int64_t size() const {
        std::int64_t n = 0;
        for (const Shard& shard : shards_) {
            const std::lock_guard lock(shard.mutex);
            n += static_cast<std::int64_t>(shard.entries.size());
        }
        return n;
    }
    std::int64_t n_forgotten() const { return n_forgotten_; }

    // What an entry takes, tables and allocator included. Subtrees shared between entries are counted for each.
    static std::size_t bytes_of(const Known& known) {
        std::size_t bytes = 256 + known.value.size() * 48;
        for (const NodePtr& tree : known.tree) {
            bytes += tree_bytes(tree);
        }
        return bytes;
    }

private:
    struct Place {
        SetKey key;
        int depth;
        bool operator==(const Place&) const = default;
    };
    struct PlaceHash {
        std::size_t operator()(const Place& place) const {
            return static_cast<std::size_t>(place.key.low ^
                                            (static_cast<std::uint64_t>(place.depth) * 0x9e3779b97f4a7c15ULL));
        }
    };
    struct Shard {
        mutable std::mutex mutex;
        std::unordered_map<Place, Known, PlaceHash> entries;
        std::size_t bytes = 0;
    };
    static constexpr std::size_t n_shards = 16;

    const Shard& shard_of(const SetKey& key) const { return shards_[key.high % n_shards]; }
    Shard& shard_of(const SetKey& key) { return shards_[key.high % n_shards]; }

    std::size_t most_bytes_;
    std::atomic<std::int64_t> n_forgotten_{0};
    std::array<Shard, n_shards> shards_;
};

}  // namespace certree

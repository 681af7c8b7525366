// Vectors whose memory is used again, and begins where a line of the cache does. A search makes the tables of a closed
// form, hundreds of kilobytes, and drops them a millisecond later, thousands of times. The system would take the memory
// back and clear it for every one of them, which was measured to take a quarter of the time. A vector register that is
// stored across two lines and read back at once was measured to cost five times as much as one that is not.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace certree {

inline constexpr std::align_val_t cache_line{64};

// Blocks that a thread has dropped, by their sizes, which are powers of two. They go when the thread ends.
class BlockPool {
public:
    static constexpr std::size_t least_bytes = std::size_t{1} << 12;
    static constexpr std::size_t most_bytes = std::size_t{1} << 23;

    static BlockPool& here() {
        static thread_local BlockPool pool;
        return pool;
    }
    static bool is_pooled(std::size_t bytes) { return bytes >= least_bytes && bytes <= most_bytes; }

    void* take(std::size_t bytes) {
        std::vector<void*>& blocks = blocks_of(bytes);
        if (blocks.empty()) {
            return ::operator new(std::bit_ceil(bytes), cache_line);
        }
        void* block = blocks.back();
        blocks.pop_back();
        held_ -= std::bit_ceil(bytes);
        return block;
    }
    // The block may be another thread's.
    void give(void* block, std::size_t bytes) noexcept {
        const std::size_t size = std::bit_ceil(bytes);
        if (held_ + size <= most_held) {
            try {
                blocks_of(bytes).push_back(block);
                held_ += size;
                return;
            } catch (const std::bad_alloc&) {
            }
        }
        ::operator delete(block, cache_line);
    }

    BlockPool() = default;
    BlockPool(const BlockPool&) = delete;
    BlockPool& operator=(const BlockPool&) = delete;
    ~BlockPool() {
        for (const std::vector<void*>& blocks : blocks_) {
            for (void* block : blocks) {
                ::operator delete(block, cache_line);
            }
        }
    }

private:
    static constexpr std::size_t most_held = std::size_t{1} << 24;

    std::vector<void*>& blocks_of(std::size_t bytes) {
        return blocks_[static_cast<std::size_t>(std::bit_width(std::bit_ceil(bytes)))];
    }

    std::array<std::vector<void*>, 64> blocks_;
    std::size_t held_ = 0;
};

template <class T>
struct PoolAllocator {
    using value_type = T;

    PoolAllocator() = default;
    template <class Other>
    PoolAllocator(const PoolAllocator<Other>&) {}

    T* allocate(std::size_t n) {
        const std::size_t bytes = n * sizeof(T);
        return static_cast<T*>(BlockPool::is_pooled(bytes) ? BlockPool::here().take(bytes)
                                                           : ::operator new(bytes, cache_line));
    }
    void deallocate(T* block, std::size_t n) noexcept {
        const std::size_t bytes = n * sizeof(T);
        BlockPool::is_pooled(bytes) ? BlockPool::here().give(block, bytes) : ::operator delete(block, cache_line);
    }
    // What a vector grows by is not cleared either: whoever makes it larger writes there.
    template <class Other>
    void construct(Other* place) noexcept {
        ::new (static_cast<void*>(place)) Other;
    }
    template <class Other, class... Arguments>
    void construct(Other* place, Arguments&&... arguments) {
        ::new (static_cast<void*>(place)) Other(std::forward<Arguments>(arguments)...);
    }
    bool operator==(const PoolAllocator&) const { return true; }
};

template <class T>
using PooledVector = std::vector<T, PoolAllocator<T>>;

// Gives up what a vector holds. To assign {} would only empty it.
template <class T, class Allocator>
void release(std::vector<T, Allocator>& values) {
    std::vector<T, Allocator>().swap(values);
}

// From now on the C library keeps more of what is freed, as it does by itself once an array of this size has been
// freed. Until then it hands back all but some hundred kilobytes at the end of its heap, and the next fit waits for the
// system to clear the same pages again. See docs/decisions/0025.
inline void keep_freed_memory() {
#ifdef __GLIBC__
    void* volatile block = std::malloc(std::size_t{1} << 24);  // volatile: else the compiler leaves out both calls
    std::free(block);
#endif
}

// Hands back to the system what has been freed, where the C library would keep it. It takes milliseconds.
inline void trim_free_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

}  // namespace certree

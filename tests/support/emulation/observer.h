// Told of what orders the accesses of threads to memory: nobody, or an observer that is linked to the library, such as a
// detector of races.
//
// g++ -fsanitize=thread also tells it of every access, but not of what a call takes by value straight from memory.
// Whether it is there does not change what a launch does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sparsync::emulation {

enum class Atomic : int { kLoad, kStore, kChange };

}  // namespace sparsync::emulation

#if defined(__SANITIZE_THREAD__)

extern "C" {
void sparsync_observe_launch(unsigned grid, unsigned block);
// A block begins with `shared`, memory of its own.
void sparsync_observe_block(const void* shared, size_t bytes);
// From here on, thread `index` of the grid runs; -1: the emulation itself.
void sparsync_observe_thread(int64_t index);
// All threads of the block, or of a warp of it, have met; `first` counts in the grid.
void sparsync_observe_meeting(int64_t first, unsigned count);
void sparsync_observe_fence();
void sparsync_observe_atomic(const void* word, size_t bytes, int kind);
}

#else

inline void sparsync_observe_launch(unsigned, unsigned) {}
inline void sparsync_observe_block(const void*, size_t) {}
inline void sparsync_observe_thread(int64_t) {}
inline void sparsync_observe_meeting(int64_t, unsigned) {}
inline void sparsync_observe_fence() {}
inline void sparsync_observe_atomic(const void*, size_t, int) {}

#endif

// The CUDA dialect of portability.h on the host, header only and for tests: fibres as threads, operating-system
// threads as resident blocks.
//
// fibres.h     stacks and the switch between them
// scheduler.h  a block: order of its threads, rendezvous, what is reported as an error
// warp.h       __syncthreads and the warp collectives
// atomics.h    atomic functions, status words of decoupled look-back
// types.h      qualifiers, vector types, bit functions
// grid.h       a launch: order of its blocks, shared memory, controls
// recording.h  launches that are written down and replayed, as a graph is
// observer.h   what is told to an observer: a detector of races, which knows the order that weak memory keeps
//
// Not modelled: weak memory order, launch limits other than the block size, and threads that wait without calling
// `pause` or `load_relaxed`. One source file a library, compiled with -fno-gnu-unique, because the variables of
// two emulated libraries in one process would otherwise be shared; no thread_local variables of its own, and
// libstdc++ not linked statically, because everything thread-local that starts as zero counts as shared memory.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "atomics.h"
#include "grid.h"
#include "recording.h"
#include "types.h"
#include "warp.h"

namespace sparsync {

using stream_t = void*;  // everything happens at once and in order

// "the_kernel(int*), launched at file:line"; without the name where the library does not export it.
inline std::string launch_name(const void* kernel, const GridSize& grid) {
  Dl_info found;
  const bool is_exported = dladdr(kernel, &found) != 0 && found.dli_sname != nullptr && found.dli_saddr == kernel;
  return (is_exported ? demangled(found.dli_sname) + ", " : std::string()) + grid.place();
}

// Runs `kernel` on `grid` blocks of `block` threads to its end; while a recording is open, writes it down instead.
//   Throws std::runtime_error for what a thread throws, and for what a GPU would not survive; see scheduler.h.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), GridSize grid, int block, stream_t, Arguments&&... arguments) {
  const std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  const void* function = reinterpret_cast<const void*>(kernel);
  const std::string name = launch_name(function, grid);
  emulation::check_size(name, grid.count, block);
  emulation::recording.perform(
      [&] { return emulation::describe(name, grid.count, block, values); },
      [=] { emulation::run_grid(name, function, grid.count, block, [&] { std::apply(kernel, values); }); });
}

inline bool is_recorded(stream_t) { return emulation::recording.is_open(); }

inline int resident_block_count() { return emulation::blocks_setting; }

}  // namespace sparsync

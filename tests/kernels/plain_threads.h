// What the CPU kernel takes of torch/csrc/stable/ops.h, on threads whose every start and end a race detector sees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace torch::stable {

inline int64_t thread_count = 1;

inline uint32_t get_num_threads() { return (uint32_t)thread_count; }

// Calls f(from, to) for consecutive parts of [begin, end), one a thread, none shorter than the grain but the last.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& f) {
  const int64_t part = std::max(grain, (end - begin + thread_count - 1) / thread_count);
  std::vector<std::thread> others;
  for (int64_t from = begin + part; from < end; from += part) {
    others.emplace_back([&f, from, to = std::min(end, from + part)] { f(from, to); });
  }
  if (begin < end) f(begin, std::min(end, begin + part));
  for (std::thread& other : others) other.join();
}

}  // namespace torch::stable

// The order statistics of the CPU's candidate lists, with C linkage.
#include <algorithm>

#include "cpu/ranks.h"

namespace {

void write(const sparsync::OrderStatistics& statistics, int64_t* found) {
  found[0] = statistics.upper_value;
  found[1] = statistics.lower_value;
  found[2] = statistics.above_count;
}

}  // namespace

extern "C" void order_statistics(const uint32_t* magnitudes, int64_t count, int64_t upper, int64_t lower,
                                 int64_t* found) {
  const auto visit_all = [=](const auto& visit) {
    for (int64_t index = 0; index < count; ++index) visit(magnitudes[index]);
  };
  write(sparsync::order_statistics(count, {upper, lower}, visit_all), found);
}

// Read by seven, each with a total of its own; the last of them may find nothing left.
extern "C" void shared_order_statistics(const uint32_t* magnitudes, int64_t count, int64_t upper, int64_t lower,
                                        int64_t* found) {
  const int64_t share = (count + 6) / 7;
  const auto read = [=](auto& total, const auto& take, const auto& join) {
    const auto empty = total;
    for (int64_t reader = 0; reader < 7; ++reader) {
      auto own = empty;
      for (int64_t index = reader * share; index < std::min(count, (reader + 1) * share); ++index) {
        take(own, magnitudes[index]);
      }
      join(total, own);
    }
  };
  write(sparsync::order_statistics_by_counting(count, {upper, lower}, read), found);
}

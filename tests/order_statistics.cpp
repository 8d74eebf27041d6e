// The order statistics of the CPU's candidate lists, with C linkage.
#include "cpu_ranks.h"

extern "C" void order_statistics(const uint32_t* magnitudes, int64_t count, int64_t upper, int64_t lower,
                                 int64_t* found) {
  const sparsync::OrderStatistics statistics =
      sparsync::order_statistics(count, {upper, lower}, [=](const auto& visit) {
        for (int64_t index = 0; index < count; ++index) visit(magnitudes[index]);
      });
  found[0] = statistics.upper_value;
  found[1] = statistics.lower_value;
  found[2] = statistics.above_count;
}

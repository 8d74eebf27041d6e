// The op's schema and its implementation for the CPU.
#include "op.h"

#include <cstdlib>
#include <cstring>

#include "cpu/loops.h"
#include "cpu/select.h"

namespace sparsync {

#if defined(__x86_64__)
namespace avx512 {
extern const Loops table;
}
namespace avx2 {
extern const Loops table;
}
#endif
namespace portable {
extern const Loops table;
}

namespace {

// The widest instruction set that this processor has, or the one that SPARSYNC_INSTRUCTION_SET names if it has that.
const Loops& choose_loops() {
#if defined(__x86_64__)
  const char* named = std::getenv("SPARSYNC_INSTRUCTION_SET");
  const auto may_use = [&](const Loops& table, bool is_there) {
    return is_there && (named == nullptr || std::strcmp(named, table.instruction_set) == 0);
  };
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
  if (may_use(avx512::table, has_avx2 && __builtin_cpu_supports("avx512f"))) return avx512::table;
  if (may_use(avx2::table, has_avx2)) return avx2::table;
#endif
  return portable::table;
}

}  // namespace

const Loops& loops() {
  static const Loops& chosen = choose_loops();
  return chosen;
}

namespace {

std::tuple<Tensor, Tensor, Tensor> feedback_select_cpu(std::vector<Tensor> gradients, std::vector<Tensor> residuals,
                                                       std::vector<int64_t> counts, int64_t rule,
                                                       std::vector<double> parameters, std::vector<int64_t> capacities,
                                                       Tensor memory) {
  return feedback_select(gradients, residuals, counts, rule, parameters, capacities, memory,
                         [](const Request& request, const Tensor&) { select_on_cpu(request); });
}

}  // namespace
}  // namespace sparsync

STABLE_TORCH_LIBRARY(sparsync, m) { m.def(sparsync::kSchema); }

STABLE_TORCH_LIBRARY_IMPL(sparsync, CPU, m) { m.impl("feedback_select_", TORCH_BOX(&sparsync::feedback_select_cpu)); }

// The op's schema and its implementation for the CPU.
#include "op.h"

#include "cpu/instruction_set.h"
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

const Loops& loops() {
#if defined(__x86_64__)
  if (instruction_set() == InstructionSet::kAvx512) return avx512::table;
  if (instruction_set() == InstructionSet::kAvx2) return avx2::table;
#endif
  return portable::table;
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

// The op for CUDA devices, registered with torch; with -DSPARSYNC_EMULATE the same kernels on host memory, for tests.
#include "cuda/select.cuh"
#include "op.h"

#if !defined(SPARSYNC_EMULATE)
#include <dlfcn.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/headeronly/util/shim_utils.h>

// Part of torch's CUDA library alone: weak, so that this library loads without it.
extern "C" __attribute__((weak)) AOTITorchError aoti_torch_get_current_cuda_stream(int32_t device_index,
                                                                                   void** stream);
#endif

namespace sparsync {
namespace {

#if defined(SPARSYNC_EMULATE)
stream_t current_stream(const Tensor&) { return stream_t{}; }
#else
using CurrentStream = decltype(&aoti_torch_get_current_cuda_stream);

// Torch's CUDA library may be loaded without being in the scope where the weak symbol was looked for.
CurrentStream find_current_stream() {
  if (aoti_torch_get_current_cuda_stream != nullptr) return aoti_torch_get_current_cuda_stream;
  void* const library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<CurrentStream>(dlsym(library, "aoti_torch_get_current_cuda_stream"));
}

stream_t current_stream(const Tensor& like) {
  static const CurrentStream function = find_current_stream();
  STD_TORCH_CHECK(function != nullptr, "this torch has no CUDA: its current stream is unknown");
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(function(like.get_device_index(), &stream));
  return static_cast<stream_t>(stream);
}
#endif

void run(const Request& request, const Tensor& like) {
  const Plan plan = make_plan(request);
  Tensor workspace = torch::stable::new_empty(like, {lay_out(request, plan, nullptr).bytes}, ScalarType::Byte);
  select_on_cuda(request, plan, workspace.data_ptr(), current_stream(like));
}

std::tuple<Tensor, Tensor, Tensor> feedback_select_cuda(std::vector<Tensor> gradients, std::vector<Tensor> residuals,
                                                        std::vector<int64_t> counts, int64_t rule,
                                                        std::vector<double> parameters,
                                                        std::vector<int64_t> capacities, Tensor memory) {
#if !defined(SPARSYNC_EMULATE)
  STD_TORCH_CHECK(!residuals.empty(), "expected at least one residual");
  const torch::stable::accelerator::DeviceGuard guard(residuals[0].get_device_index());
#endif
  return feedback_select(gradients, residuals, counts, rule, parameters, capacities, memory, run);
}

}  // namespace
}  // namespace sparsync

#if defined(SPARSYNC_EMULATE)
STABLE_TORCH_LIBRARY(sparsync_emulated, m) { m.def(sparsync::kSchema); }

STABLE_TORCH_LIBRARY_IMPL(sparsync_emulated, CPU, m) {
  m.impl("feedback_select_", TORCH_BOX(&sparsync::feedback_select_cuda));
}
#else
STABLE_TORCH_LIBRARY_IMPL(sparsync, CUDA, m) {
  m.impl("feedback_select_", TORCH_BOX(&sparsync::feedback_select_cuda));
}
#endif

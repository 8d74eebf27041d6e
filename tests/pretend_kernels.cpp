// Our CUDA kernels by their mangled names, for the pretend GPU: what nvcc's host code launches, the emulation runs.
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>

#include "cuda_select.cuh"

namespace {

// Naming what launches all kernels makes the compiler keep all.
[[maybe_unused]] const auto kept __attribute__((used)) = &sparsync::select_on_cuda;

// Arguments are copied now, as a launch does.
template <class... Parameters>
std::function<void()> bind(void (*kernel)(Parameters...), unsigned grid, unsigned block, void** arguments) {
  const std::tuple<Parameters...> values{*static_cast<Parameters*>(*arguments++)...};
  return [=] {
    std::apply([&](const auto&... value) {
      sparsync::launch(kernel, sparsync::GridSize(grid), static_cast<int>(block), nullptr, value...);
    }, values);
  };
}

void* find(const char* name) {
  Dl_info self;
  if (dladdr(reinterpret_cast<const void*>(&find), &self) == 0) return nullptr;
  return dlsym(dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD), name);
}

bool takes_tables_alone(const char* name) {
  const std::unique_ptr<char, void (*)(void*)> written(abi::__cxa_demangle(name, nullptr, nullptr, nullptr), std::free);
  return written != nullptr && std::string_view(written.get()).ends_with("(sparsync::Tables)");
}

}  // namespace

// Empty if there is no such kernel, or none with these parameters.
extern "C" __attribute__((visibility("default"))) std::function<void()> pretend_kernel(const char* name, unsigned grid,
                                                                                      unsigned block,
                                                                                      void** arguments) {
  using namespace sparsync;
  void* const kernel = find(name);
  if (kernel == nullptr) return {};
  if (kernel == reinterpret_cast<void*>(&upload<kSmallParcel>)) {
    return bind(upload<kSmallParcel>, grid, block, arguments);
  }
  if (kernel == reinterpret_cast<void*>(&upload<kLargeParcel>)) {
    return bind(upload<kLargeParcel>, grid, block, arguments);
  }
  if (!takes_tables_alone(name)) return {};
  return bind(reinterpret_cast<void (*)(Tables)>(kernel), grid, block, arguments);
}

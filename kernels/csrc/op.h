// The torch side of the op, shared by the CPU, CUDA and emulated registrations: checks, then a `Request`.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "core.h"

namespace sparsync {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

inline constexpr const char* kSchema =
    "feedback_select_(Tensor[] gradients, Tensor(a!)[] residuals, int[] counts, int rule, float[] parameters, "
    "int[] capacities, Tensor(b!) memory) -> (Tensor values, Tensor indices, Tensor report)";

inline GradientType gradient_type_of(const Tensor& gradient) {
  switch (gradient.scalar_type()) {
    case ScalarType::Float:
      return GradientType::kFloat32;
    case ScalarType::BFloat16:
      return GradientType::kBfloat16;
    case ScalarType::Half:
      return GradientType::kFloat16;
    default:
      STD_TORCH_CHECK(false, "gradients must be float32, bfloat16 or float16");
  }
}

inline void check_pair(const Tensor& gradient, const Tensor& residual, ScalarType type, int64_t position) {
  STD_TORCH_CHECK(gradient.dim() == 1 && residual.dim() == 1 && gradient.numel() == residual.numel(),
                  "gradient and residual ", position, " must be vectors of one length");
  STD_TORCH_CHECK(gradient.is_contiguous() && residual.is_contiguous(), "tensor ", position, " is not contiguous");
  STD_TORCH_CHECK(residual.scalar_type() == ScalarType::Float, "residual ", position, " must be float32");
  STD_TORCH_CHECK(gradient.scalar_type() == type, "gradient ", position, " has another dtype than the first");
  STD_TORCH_CHECK(gradient.is_cuda() == residual.is_cuda() &&
                      gradient.get_device_index() == residual.get_device_index(),
                  "gradient and residual ", position, " are on different devices");
}

// A vector in memory, and where it was passed.
struct Extent {
  uintptr_t begin;
  uintptr_t end;
  bool is_written;
  size_t position;
};

// No residual shares memory with a gradient or another residual; gradients may with each other. Empty tensors begin at
// 0 and end there.
inline void check_disjoint(const std::vector<Piece>& pieces, GradientType type) {
  const uintptr_t gradient_bytes = type == GradientType::kFloat32 ? 4 : 2;
  std::vector<Extent> extents;
  extents.reserve(2 * pieces.size());
  for (size_t index = 0; index < pieces.size(); ++index) {
    const uintptr_t length = static_cast<uintptr_t>(pieces[index].length);
    const uintptr_t read = reinterpret_cast<uintptr_t>(pieces[index].gradient);
    const uintptr_t written = reinterpret_cast<uintptr_t>(pieces[index].residual);
    extents.push_back({read, read + length * gradient_bytes, false, index});
    extents.push_back({written, written + length * sizeof(float), true, index});
  }
  std::sort(extents.begin(), extents.end(), [](const Extent& left, const Extent& right) { return left.begin < right.begin; });
  uintptr_t read_end = 0, written_end = 0;
  for (const Extent& extent : extents) {
    const uintptr_t taken = extent.is_written ? std::max(read_end, written_end) : written_end;
    STD_TORCH_CHECK(extent.begin >= taken, extent.is_written ? "residual " : "gradient ", extent.position,
                    " shares memory with a residual that is to be changed");
    uintptr_t& end = extent.is_written ? written_end : read_end;
    end = std::max(end, extent.end);
  }
}

// A chunk of the rule is a tile of the implementations, which begins with its piece.
inline void check_chunk(const Piece& piece, int64_t position) {
  STD_TORCH_CHECK(piece.length == 0 || piece.group_offset % kTileSize == 0, "tensor ", position, " begins at entry ",
                  piece.group_offset, " of its selection, chunks at multiples of ", kTileSize);
}

// One group for each piece, or one for all of them when a single count is given.
inline void add_groups(Request& request, const std::vector<int64_t>& counts, const std::vector<double>& parameters,
                       const std::vector<int64_t>& capacities) {
  const int64_t piece_count = static_cast<int64_t>(request.pieces.size());
  const int64_t group_count = static_cast<int64_t>(counts.size());
  STD_TORCH_CHECK(group_count == piece_count || group_count == 1, "expected 1 or ", piece_count, " counts, got ",
                  group_count);
  STD_TORCH_CHECK(static_cast<int64_t>(parameters.size()) == group_count &&
                      static_cast<int64_t>(capacities.size()) == group_count,
                  "counts, parameters and capacities must have one length");
  int64_t output_offset = 0;
  for (int64_t index = 0; index < group_count; ++index) {
    const int64_t members = group_count == piece_count ? 1 : piece_count;
    Group group{index, members, 0, counts[index], capacities[index], output_offset, parameters[index]};
    for (int64_t piece = index; piece < index + members; ++piece) {
      request.pieces[piece].group_offset = group.dimension;
      group.dimension += request.pieces[piece].length;
      if (request.rule == Rule::kChunkedTopK) check_chunk(request.pieces[piece], piece);
    }
    STD_TORCH_CHECK(group.dimension < (int64_t{1} << 31), "d = ", group.dimension, " does not fit int32 indices");
    STD_TORCH_CHECK(1 <= group.target_count && group.target_count <= group.dimension, "group ", index,
                    ": k must satisfy 1 <= k <= d = ", group.dimension, ", got ", group.target_count);
    STD_TORCH_CHECK(0 <= group.capacity && group.capacity <= group.dimension, "group ", index,
                    ": the capacity must lie in [0, d], got ", group.capacity);
    output_offset += group.capacity;
    request.groups.push_back(group);
  }
}

// The op itself; `run(request, like)` fills the outputs, `like` is a tensor on the call's device.
template <class Run>
std::tuple<Tensor, Tensor, Tensor> feedback_select(const std::vector<Tensor>& gradients,
                                                   const std::vector<Tensor>& residuals,
                                                   const std::vector<int64_t>& counts, int64_t rule,
                                                   const std::vector<double>& parameters,
                                                   const std::vector<int64_t>& capacities, const Tensor& memory,
                                                   const Run& run) {
  STD_TORCH_CHECK(!gradients.empty() && gradients.size() == residuals.size(),
                  "expected as many gradients as residuals and at least one, got ", gradients.size(), " and ",
                  residuals.size());
  STD_TORCH_CHECK(0 <= rule && rule <= 4, "unknown rule ", rule);
  Request request{};
  request.rule = static_cast<Rule>(rule);
  request.gradient_type = gradient_type_of(gradients[0]);
  for (size_t index = 0; index < gradients.size(); ++index) {
    check_pair(gradients[index], residuals[index], gradients[0].scalar_type(), static_cast<int64_t>(index));
    STD_TORCH_CHECK(residuals[index].get_device_index() == residuals[0].get_device_index() &&
                        residuals[index].is_cuda() == residuals[0].is_cuda(),
                    "residual ", index, " is on another device than the first");
    request.pieces.push_back({gradients[index].data_ptr(), static_cast<float*>(residuals[index].data_ptr()),
                              residuals[index].numel(), 0});
  }
  check_disjoint(request.pieces, request.gradient_type);
  add_groups(request, counts, parameters, capacities);
  const int64_t group_count = static_cast<int64_t>(request.groups.size());
  STD_TORCH_CHECK(memory.scalar_type() == ScalarType::Int && memory.is_contiguous() &&
                      memory.numel() == group_count * kMemoryColumns &&
                      memory.is_cuda() == residuals[0].is_cuda() &&
                      memory.get_device_index() == residuals[0].get_device_index(),
                  "the memory must be int32 [", group_count, ", ", int(kMemoryColumns), "] on the residuals' device");
  const Group& last = request.groups.back();
  const int64_t total = last.output_offset + last.capacity;
  Tensor values = torch::stable::new_empty(residuals[0], {total}, ScalarType::Float);
  Tensor indices = torch::stable::new_empty(residuals[0], {total}, ScalarType::Int);
  Tensor report = torch::stable::new_empty(residuals[0], {group_count, kReportColumns}, ScalarType::Int);
  request.values = static_cast<float*>(values.data_ptr());
  request.indices = static_cast<int32_t*>(indices.data_ptr());
  request.report = static_cast<int32_t*>(report.data_ptr());
  request.memory = static_cast<int32_t*>(memory.data_ptr());
  run(request, residuals[0]);
  return {values, indices, report};
}

}  // namespace sparsync

// Which kernels make a call, and in which order.
//
// All kernels of a rule are always launched, on one stream, and return at once where a group has no use for them:
// nothing waits for the device and nothing is copied from host memory, so that a call can be captured in a graph.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "cuda/accumulate.cuh"
#include "cuda/chunks.cuh"
#include "cuda/count.cuh"
#include "cuda/emit.cuh"
#include "cuda/plan.cuh"
#include "cuda/released.cuh"

namespace sparsync {

// Launches of one call: grids that loop over `units` of work, and grids of one block for each group.
class Launcher {
 public:
  Launcher(const Tables& tables, stream_t stream) : tables_(tables), stream_(stream) {}

  // `density`: how many blocks of the kernel a multiprocessor holds.
  template <class Kernel>
  void for_units(Kernel kernel, int64_t units, int density = kResidentBlocks) const {
    const int64_t blocks = std::min(units, resident_blocks_ * density / kResidentBlocks);
    launch(kernel, std::max<int64_t>(1, blocks), kThreads, stream_, tables_);
  }

  template <class Kernel>
  void for_tiles(Kernel kernel, int density = kResidentBlocks) const {
    for_units(kernel, tables_.tile_count, density);
  }

  template <class Kernel>
  void for_groups(Kernel kernel) const {
    launch(kernel, tables_.group_count, kThreads, stream_, tables_);
  }

 private:
  Tables tables_;
  stream_t stream_;
  int64_t resident_blocks_ = resident_block_count();
};

// Writes as many words as one parcel holds, clears a range besides, and returns how many words it wrote.
template <int kWords>
size_t upload_parcel(unsigned long long* destination, const unsigned long long* words, size_t count,
                     ClearedWords cleared, stream_t stream) {
  Parcel<kWords> parcel{};
  count = std::min<size_t>(count, kWords);
  std::memcpy(parcel.words, words, count * sizeof(*words));
  const int64_t units = rounded_up(std::max(static_cast<int64_t>(count), cleared.count), kThreads) / kThreads;
  launch(upload<kWords>, std::min<int64_t>(units, resident_block_count()), kThreads, stream, destination, parcel,
         static_cast<int>(count), cleared);
  return count;
}

// Writes the rows of pieces and, right behind them, of groups, and clears what starts as zeros. The first parcel is
// always small: CUDA loads a kernel when it is first launched, and one that a recording takes should be there before it.
inline void upload_rows(const Plan& plan, ClearedWords cleared, void* workspace, stream_t stream) {
  constexpr size_t kWordBytes = sizeof(unsigned long long);
  static_assert(sizeof(PieceRow) % 16 == 0 && sizeof(GroupRow) % 16 == 0, "the rows lie side by side, in words");
  const size_t piece_words = plan.pieces.size() * sizeof(PieceRow) / kWordBytes;
  const size_t group_words = plan.groups.size() * sizeof(GroupRow) / kWordBytes;
  std::vector<unsigned long long> words(piece_words + group_words);
  std::memcpy(words.data(), plan.pieces.data(), piece_words * kWordBytes);
  std::memcpy(words.data() + piece_words, plan.groups.data(), group_words * kWordBytes);
  auto* destination = static_cast<unsigned long long*>(workspace);
  for (size_t begin = 0; begin < words.size();) {
    const size_t rest = words.size() - begin;
    const bool is_large = begin > 0 && rest > kSmallParcel && !is_recorded(stream);
    const auto upload_next = is_large ? &upload_parcel<kLargeParcel> : &upload_parcel<kSmallParcel>;
    begin += upload_next(destination + begin, words.data() + begin, rest, cleared, stream);
    cleared.count = 0;  // the first launch has done it
  }
}

template <bool kTakesMoments>
void add_gradients(const Launcher& launcher, GradientType type) {
  switch (type) {
    case GradientType::kFloat32:
      return launcher.for_tiles(accumulate<Float32, kTakesMoments>, adding_density(kTakesMoments));
    case GradientType::kBfloat16:
      return launcher.for_tiles(accumulate<Bfloat16, kTakesMoments>, adding_density(kTakesMoments));
    case GradientType::kFloat16:
      return launcher.for_tiles(accumulate<Float16, kTakesMoments>, adding_density(kTakesMoments));
  }
}

inline void select_by_rank(const Launcher& launcher, GradientType type) {
  add_gradients<false>(launcher, type);
  launcher.for_groups(choose_source);
  launcher.for_tiles(count_stage<kFirstDigit>);
  launcher.for_tiles(count_stage<kSecondDigit>);
  launcher.for_tiles(count_stage<kLastDigit>);
}

inline void select_released(const Launcher& launcher, const Tables& tables, GradientType type) {
  add_gradients<true>(launcher, type);
  launcher.for_units(merge_tiles, tables.chunk_count);
  launcher.for_groups(find_ladder);
  launcher.for_tiles(count_ladder);
  launcher.for_units(walk_ladder, rounded_up(tables.group_count, kThreads) / kThreads);
}

inline void select_by_chunk(const Launcher& launcher, const Tables& tables, GradientType type) {
  switch (type) {
    case GradientType::kFloat32:
      launcher.for_tiles(select_by_tile<Float32>);
      break;
    case GradientType::kBfloat16:
      launcher.for_tiles(select_by_tile<Bfloat16>);
      break;
    case GradientType::kFloat16:
      launcher.for_tiles(select_by_tile<Float16>);
      break;
  }
  launcher.for_units(report_groups, rounded_up(tables.group_count, kThreads) / kThreads);
}

// Starts the op on `stream`.
//   plan: make_plan(request);
//   workspace: lay_out(request, plan, nullptr).bytes on the device, aligned to 16 bytes, of any content.
inline void select_on_cuda(const Request& request, const Plan& plan, void* workspace, stream_t stream) {
  const Layout layout = lay_out(request, plan, workspace);
  const Launcher launcher(layout.tables, stream);
  upload_rows(plan, layout.cleared, workspace, stream);
  launcher.for_units(prepare, rounded_up(std::max({plan.tile_count, plan.output_count / 4,
                                                   static_cast<int64_t>(plan.groups.size())}), kThreads) / kThreads);
  switch (request.rule) {
    case Rule::kTopK:
    case Rule::kGaussianK:
      select_by_rank(launcher, request.gradient_type);
      break;
    case Rule::kGaussianKReleased:
      select_released(launcher, layout.tables, request.gradient_type);
      break;
    case Rule::kThreshold:
      add_gradients<false>(launcher, request.gradient_type);
      break;
    case Rule::kChunkedTopK:
      return select_by_chunk(launcher, layout.tables, request.gradient_type);  // which emits, too
  }
  launcher.for_units(emit, layout.tables.bundle_count, kEmittingBlocks);
}

}  // namespace sparsync

// The rules on the CPU, each a short sequence of passes.
//
// Exact Top-k and Gaussian-k: a bound on the magnitudes, remembered from the call before or sampled, makes a candidate
// list while the gradient is added. If the list holds the deciding order statistics it decides, after that one pass.
// If a remembered bound failed, a sampled one gets a second pass; if that fails too, or a first sample did (heavy ties,
// mostly), two histograms of the vector give the order statistics exactly and a last pass lists what they select.
// A short vector is not sampled: without a memory, or if that failed, a bound that holds is read off all of it.
#include "cpu/select.h"

#include <array>
#include <atomic>
#include <cmath>

#include "cpu/call.h"
#include "cpu/moments.h"

namespace sparsync {
namespace {

void prepare_ranked(Call& call, int64_t group) {
  const Group& members = call.request().groups[(size_t)group];
  const int32_t* row = call.request().memory + group * kMemoryColumns;
  GroupState& state = call.state(group);
  state.ranks = deciding_ranks(call.request().rule, members.target_count);
  state.list_capacity = candidate_capacity(state.ranks.lower, members.dimension);
  state.used = {(uint32_t)row[kBound], (uint32_t)row[kMargin]};
  if (state.list_capacity == members.dimension) {  // room for everything: all non-zeros are listed
    state.bound = 1;
    return;
  }
  if (!list_is_worthwhile(state.ranks.lower, members.dimension)) return;
  state.is_remembered = state.used.bound >= 1 && state.used.bound < kInfinityBits;
  state.is_folded = members.dimension <= kShortVector;
  if (state.is_remembered) {
    state.bound = state.used.bound;
  } else if (!state.is_folded) {
    state.bound = call.sampled_bound(group, false);
  }
}

// Whether the list of a group holds its deciding order statistics, and if so the cut that they give.
void decide_from_list(Call& call, int64_t group) {
  const Group& members = call.request().groups[(size_t)group];
  GroupState& state = call.state(group);
  const int64_t listed = state.listed;
  const bool holds_the_ranks = listed >= state.ranks.lower || state.bound == 1;
  if (state.bound == 0 || listed > state.list_capacity || !holds_the_ranks) return;
  state.statistics = call.listed_statistics(group);
  state.cut = decide_cut(call.request().rule, members.target_count, members.dimension, state.statistics.upper_value,
                         state.statistics.lower_value, state.statistics.above_count);
  const bool sends_zeros = state.cut.threshold == 0;  // there are too few non-zeros, and the list holds all of them
  state.list_lacks_zeros = sends_zeros && list_is_worthwhile(members.target_count, members.dimension);
  state.cut_needs_vector = sends_zeros && !state.list_lacks_zeros;
  state.is_decided = true;
}

void remember(Call& call, int64_t group) {
  const Group& members = call.request().groups[(size_t)group];
  const GroupState& state = call.state(group);
  const Memory used{state.is_remembered ? state.used.bound : state.bound, state.used.margin};
  const Memory next = next_memory(state.statistics.lower_value, used, state.first_list_count, state.ranks.lower,
                                  candidate_capacity(state.ranks.lower, members.dimension));
  int32_t* row = call.request().memory + group * kMemoryColumns;
  row[kBound] = (int32_t)next.bound;
  row[kMargin] = (int32_t)next.margin;
}

// Lists everything that the cut of a decided group selects.
void list_selected(Call& call, const std::function<bool(int64_t)>& wanted) {
  bool any = false;
  for (int64_t group = 0; group < call.group_count(); ++group) {
    if (!wanted(group)) continue;
    GroupState& state = call.state(group);
    any = true;
    state.bound = state.cut.threshold;
    state.list_capacity = kUnlimited;
    state.is_decided = true;
    ++state.pass_count;
  }
  if (any) call.list_again(wanted);
}

// A second list of the wanted groups, of their corrected entries. A short vector's always decides, whatever its length.
void list_corrected(Call& call, const std::function<bool(int64_t)>& wanted) {
  std::atomic<bool> any{false};
  call.for_each_group([&](int64_t group) {
    if (!wanted(group)) return;
    any = true;
    GroupState& state = call.state(group);
    if (state.is_folded) state.list_capacity = kUnlimited;
    state.bound = state.is_folded ? call.folded_bound(group) : call.sampled_bound(group, true);
    state.pass_count += state.is_folded ? 2 : 1;
  });
  if (!any) return;
  call.list_again(wanted);
  call.for_each_list([&](int64_t group) {
    if (!wanted(group)) return;
    GroupState& state = call.state(group);
    if (!state.is_remembered) state.first_list_count = state.listed;
    decide_from_list(call, group);
  });
}

void select_by_rank(Call& call) {
  call.for_each_group([&](int64_t group) { prepare_ranked(call, group); });
  call.add_gradients();
  call.for_each_list([&](int64_t group) {
    GroupState& state = call.state(group);
    state.first_list_count = state.bound == 0 ? -1 : state.listed.load();
    decide_from_list(call, group);
  });
  const auto is_listed_again = [&](int64_t group) {
    const GroupState& state = call.state(group);
    return !state.is_decided && (state.is_remembered || state.is_folded);
  };
  list_corrected(call, is_listed_again);
  const auto undecided = [&](int64_t group) { return !call.state(group).is_decided; };
  call.count_everything(undecided);
  for (int64_t group = 0; group < call.group_count(); ++group) {
    GroupState& state = call.state(group);
    if (state.is_decided) continue;
    const Group& members = call.request().groups[(size_t)group];
    state.cut = decide_cut(call.request().rule, members.target_count, members.dimension, state.statistics.upper_value,
                           state.statistics.lower_value, state.statistics.above_count);
    state.cut_needs_vector = true;
  }
  for (int64_t group = 0; group < call.group_count(); ++group) remember(call, group);
  list_selected(call, [&](int64_t group) { return call.state(group).cut_needs_vector; });
  call.list_zeros();
}

// The walk of the released refinement: three counts at most, the last change of the threshold is never used.
void select_released(Call& call) {
  const Request& request = call.request();
  std::vector<std::vector<Moments>> tiles(request.pieces.size());
  for (size_t piece = 0; piece < tiles.size(); ++piece) tiles[piece].resize((size_t)tile_count(request.pieces[piece].length));
  call.add_gradients([&](int64_t piece, int64_t begin, const float* vector, int64_t length) {
    tiles[(size_t)piece][(size_t)(begin / kTileSize)] = loops().moments(vector, length);
  });
  // A count of the ladder's steps t, t/2, 3t/2, t/4, 3t/4, 9t/4, and which of them a walk takes.
  std::vector<std::array<uint32_t, kLadderSize>> bounds(request.groups.size());
  std::vector<std::array<std::atomic<int64_t>, kLadderSize>> counts(request.groups.size());
  for (size_t group = 0; group < request.groups.size(); ++group) {
    const Group& members = request.groups[group];
    std::vector<Moments> all;
    for (int64_t piece = members.first_piece; piece < members.first_piece + members.piece_count; ++piece) {
      all.insert(all.end(), tiles[(size_t)piece].begin(), tiles[(size_t)piece].end());
    }
    const Moments moments = merge_all(std::move(all));
    const double start = moments.mean + members.parameter * std::sqrt(moments.deviations / (moments.count - 1.0));
    const double steps[kLadderSize] = {start,       start * 0.5,       start * 1.5,
                                       start * 0.5 * 0.5, start * 0.5 * 1.5, start * 1.5 * 1.5};
    for (int step = 0; step < kLadderSize; ++step) bounds[group][(size_t)step] = strict_cut((float)steps[step]).threshold;
  }
  const auto everything = [](int64_t) { return true; };
  call.for_each_stretch([&](Stretch& stretch) {
    Call::for_each_tile(stretch, everything, [&](int64_t group, int64_t piece, int64_t begin, int64_t length) {
      int64_t found[kLadderSize] = {};
      loops().count(request.pieces[(size_t)piece].residual + begin, length, bounds[(size_t)group].data(), found);
      for (int step = 0; step < kLadderSize; ++step) counts[(size_t)group][(size_t)step] += found[step];
    });
  });
  for (int64_t group = 0; group < call.group_count(); ++group) {
    const int64_t k = request.groups[(size_t)group].target_count;
    int halvings = 0, raises = 0, step = 0;
    constexpr int kStepAfter[3][3] = {{0, 2, 5}, {1, 4, -1}, {3, -1, -1}};  // [halvings][raises]
    for (int pass = 0; pass < 3; ++pass) {
      step = kStepAfter[halvings][raises];
      const int64_t count = counts[(size_t)group][(size_t)step];
      if (3 * count < 2 * k) {
        ++halvings;
      } else if (3 * count > 4 * k) {
        ++raises;
      } else {
        break;
      }
    }
    call.state(group).cut = {bounds[(size_t)group][(size_t)step], kAllTies};
    ++call.state(group).pass_count;
  }
  list_selected(call, everything);
}

void select_by_threshold(Call& call) {
  for (int64_t group = 0; group < call.group_count(); ++group) {
    GroupState& state = call.state(group);
    state.cut = {magnitude((float)call.request().groups[(size_t)group].parameter), kAllTies};
    state.bound = state.cut.threshold;
    state.list_capacity = kUnlimited;
  }
  call.add_gradients();
  list_selected(call, [&](int64_t group) { return call.state(group).cut.threshold == 0; });
}

void select_by_chunk(Call& call) {
  for (int64_t group = 0; group < call.group_count(); ++group) {
    const Group& members = call.request().groups[(size_t)group];
    GroupState& state = call.state(group);
    state.cut = {0, kAllTies};  // what is listed is sent
    state.list_capacity = kUnlimited;
    state.is_emptied = members.capacity >= members.target_count;  // there is room for all of it
  }
  call.add_and_list_chunks();
}

}  // namespace

void select_on_cpu(const Request& request) {
  Call call(request);
  switch (request.rule) {
    case Rule::kTopK:
    case Rule::kGaussianK:
      select_by_rank(call);
      break;
    case Rule::kGaussianKReleased:
      select_released(call);
      break;
    case Rule::kThreshold:
      select_by_threshold(call);
      break;
    case Rule::kChunkedTopK:
      select_by_chunk(call);
      break;
  }
  call.emit();
}

}  // namespace sparsync

// The passes of cpu/call.h: add and list, list again, count, sample.
#include "cpu/call.h"

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <mutex>
#include <utility>

namespace sparsync {
namespace {

// Less than this many entries for a thread cost more to hand out than to do.
constexpr int64_t kLeastEntriesPerThread = 32768;
// Threads that take short stretches end together, though one may be slower or come later.
constexpr int64_t kLeastEntriesPerStretch = 131072;
constexpr int64_t kMostStretchesPerThread = 64;
// Listed entries that a thread tells the others of: a common counter for each tile would travel between them.
constexpr int64_t kToldTogether = 256;
constexpr int64_t kLongList = 16384;  // listed entries that threads had better read together
constexpr int64_t kBinned = 65536;    // entries worth a table of 2^16 bins
// Sampled magnitudes that should reach the deciding rank; their count varies by its square root.
constexpr double kSampledTail = 384.0;
constexpr int64_t kSampledLine = 16;        // entries read together: a cache line of the residual
constexpr int64_t kPrefetchedWindows = 16;  // lines fetched ahead: they are far apart, no hardware foresees them

void lower_to(std::atomic<int64_t>& target, int64_t value) {
  int64_t seen = target.load(std::memory_order_relaxed);
  while (value < seen && !target.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

size_t gradient_size(GradientType type) { return type == GradientType::kFloat32 ? 4 : 2; }

int64_t entry_count(const Request& request) {
  int64_t total = 0;
  for (const Piece& piece : request.pieces) total += piece.length;
  return total;
}

int64_t useful_thread_count(int64_t entries) {
  const int64_t useful = std::max<int64_t>(1, entries / kLeastEntriesPerThread);
  return std::min<int64_t>(torch::stable::get_num_threads(), useful);
}

int64_t useful_stretch_count(int64_t entries, int64_t threads) {
  return threads * std::clamp<int64_t>(entries / (threads * kLeastEntriesPerStretch), 1, kMostStretchesPerThread);
}

uint64_t mixed(uint64_t value) {  // the finaliser of SplitMix64 (Steele, Lea, Flood 2014)
  value = (value + 0x9e3779b97f4a7c15u);
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

// The rank among `sampled` magnitudes below which a list of `needed` to `capacity` entries probably ends: six standard
// deviations above the needed count, but no further than the geometric mean with the capacity.
int64_t sampled_rank(int64_t needed, int64_t capacity, int64_t sampled, int64_t dimension) {
  if (sampled == dimension) return needed;
  const double share = (double)sampled / (double)dimension;
  const double tail = (double)needed * share;
  const double safe = (double)needed * (1.0 + std::max(0.3, 6.0 / std::sqrt(tail)));
  return (int64_t)std::ceil(std::min(safe, std::sqrt((double)needed * (double)capacity)) * share);
}

// The rank-th largest of magnitudes, 0 where there are fewer.
uint32_t largest(const std::vector<uint32_t>& magnitudes, int64_t rank) {
  const OrderStatistics found = order_statistics((int64_t)magnitudes.size(), {rank, rank}, [&](const auto& visit) {
    for (const uint32_t bits : magnitudes) visit(bits);
  });
  return found.lower_value;
}

// The same of lines side by side: so many of them reach the rank-th largest of the lines' maxima that nothing smaller
// can have the rank, and of a high rank few lines are left to look at.
uint32_t largest_in_lines(const std::vector<uint32_t>& lines, int64_t rank) {
  std::vector<uint32_t> maxima(lines.size() / kSampledLine);
  for (size_t line = 0; line < maxima.size(); ++line) {
    const uint32_t* const first = lines.data() + line * kSampledLine;
    maxima[line] = *std::max_element(first, first + kSampledLine);
  }
  const uint32_t least = largest(maxima, rank);
  std::vector<uint32_t> tail;
  for (size_t line = 0; line < maxima.size(); ++line) {
    if (maxima[line] < least) continue;
    const uint32_t* const first = lines.data() + line * kSampledLine;
    std::copy_if(first, first + kSampledLine, std::back_inserter(tail), [=](uint32_t bits) { return bits >= least; });
  }
  return largest(tail, rank);
}

}  // namespace

Call::Call(const Request& request)
    : request_(request), states_(request.groups.size()), thread_count_(useful_thread_count(entry_count(request))),
      stretches_(cut_into_stretches(request, useful_stretch_count(entry_count(request), thread_count_))) {}

void Call::on_each_thread(const std::function<void()>& body) {
  if (thread_count_ == 1) return body();
  torch::stable::parallel_for(0, thread_count_, 1, [&](int64_t, int64_t) { body(); });
}

void Call::for_each_stretch(const std::function<void(Stretch&)>& body) {
  Queue queue((int64_t)stretches_.size());
  on_each_thread([&] { queue.work([&](int64_t index) { body(stretches_[(size_t)index]); }); });
}

void Call::for_each_group(const std::function<void(int64_t)>& body) {
  if (group_count() == 1) return body(0);  // which may use all threads itself
  Queue queue(group_count());
  on_each_thread([&] { queue.work(body); });
}

bool Call::has_long_list(int64_t group) const { return states_[(size_t)group].listed >= kLongList; }

void Call::for_each_list(const std::function<void(int64_t)>& body) {
  for (int64_t group = 0; group < group_count(); ++group) {
    if (has_long_list(group)) body(group);
  }
  for_each_group([&](int64_t group) {
    if (!has_long_list(group)) body(group);
  });
}

// Which parts are whose, after each pass that lists, for it may move them. (To look for each group among all parts
// would take the square of their number.)
void Call::find_parts() {
  for (GroupState& state : states_) state.parts.clear();
  for (Stretch& stretch : stretches_) {
    for (Part& part : stretch.parts) {
      if (!part.is_live) continue;
      GroupState& state = states_[(size_t)part.group];
      state.parts.emplace_back(&stretch, &part);
      state.listed += std::exchange(part.untold, 0);
    }
  }
}

// Keeps what a tile listed as long as the group's list stays within its capacity, or little more.
void Call::keep(Stretch& stretch, int64_t group, const Entry* entries, int64_t count) {
  GroupState& state = states_[(size_t)group];
  if (stretch.parts.empty() || stretch.parts.back().group != group || !stretch.parts.back().is_live) {
    stretch.parts.push_back({group, stretch.entries.size()});
  }
  Part& part = stretch.parts.back();
  part.untold += count;
  if (part.untold >= kToldTogether) state.listed += std::exchange(part.untold, 0);
  if (state.listed.load(std::memory_order_relaxed) + part.untold > state.list_capacity) return;
  stretch.entries.append(entries, count);
  part.count += count;
}

int64_t Call::add_tile(const Span& tile, uint32_t bound, Entry* listed) {
  const Piece& piece = request_.pieces[(size_t)tile.piece];
  const int64_t first = piece.group_offset + tile.begin;
  const int64_t size = (int64_t)gradient_size(request_.gradient_type);
  const char* const gradient = static_cast<const char*>(piece.gradient) + tile.begin * size;
  const Listed result = loops().add_and_list(request_.gradient_type, gradient, piece.residual + tile.begin, tile.length,
                                             bound, (uint32_t)first, listed);
  GroupState& state = states_[(size_t)tile.group];
  if (result.first_non_finite >= 0) lower_to(state.first_non_finite, first + result.first_non_finite);
  return result.count;
}

void Call::add_gradients(const std::function<void(int64_t, int64_t, const float*, int64_t)>& after_tile) {
  for_each_stretch([&](Stretch& stretch) {
    Entry listed[kTileSize + kListSlack];
    const auto everything = [](int64_t) { return true; };
    for_each_tile(stretch, everything, [&](int64_t group, int64_t index, int64_t begin, int64_t length) {
      const uint32_t bound = states_[(size_t)group].bound;
      const int64_t count = add_tile({group, index, begin, length}, bound == 0 ? kInfinityBits : bound, listed);
      if (count > 0) keep(stretch, group, listed, count);
      if (after_tile) after_tile(index, begin, request_.pieces[(size_t)index].residual + begin, length);
    });
  });
  find_parts();
}

void Call::list_again(const std::function<bool(int64_t)>& wanted) {
  for (int64_t group = 0; group < group_count(); ++group) {
    if (wanted(group)) states_[(size_t)group].listed = 0;
  }
  Queue queue((int64_t)stretches_.size());
  on_each_thread([&] {
    Ties ties;
    queue.work([&](int64_t index) { list_stretch(stretches_[(size_t)index], wanted, ties); });
  });
  find_parts();
}

// Of ties, a thread lists no more than can be sent: it gets its stretches in order.
void Call::list_stretch(Stretch& stretch, const std::function<bool(int64_t)>& wanted, Ties& ties) {
  bool any_live = false;
  for (Part& part : stretch.parts) {
    part.is_live = part.is_live && !wanted(part.group);
    any_live = any_live || part.is_live;
  }
  if (!any_live) {
    stretch.entries.clear();
    stretch.parts.clear();
  }
  Entry listed[kTileSize + kListSlack];
  for_each_tile(stretch, wanted, [&](int64_t group, int64_t index, int64_t begin, int64_t length) {
    const Piece& piece = request_.pieces[(size_t)index];
    const GroupState& state = states_[(size_t)group];
    if (ties.group != group) ties = {group};
    const bool is_limited = state.is_decided && state.cut.tie_count != kAllTies;
    const uint32_t bound = is_limited && ties.count >= state.cut.tie_count ? state.cut.threshold + 1 : state.bound;
    int64_t count = loops().list(piece.residual + begin, length, bound, (uint32_t)(piece.group_offset + begin), listed);
    if (is_limited) {
      const auto is_excess = [&](const Entry& entry) {
        return magnitude(entry.value) == state.cut.threshold && ties.count++ >= state.cut.tie_count;
      };
      count = std::remove_if(listed, listed + count, is_excess) - listed;
    }
    if (count > 0) keep(stretch, group, listed, count);
  });
}

OrderStatistics Call::listed_statistics(int64_t group) {
  GroupState& state = states_[(size_t)group];
  const auto visit_part = [&](int64_t number, const auto& visit) {
    const auto& [stretch, part] = state.parts[(size_t)number];
    stretch->entries.for_each(part->first, part->count, [&](const Entry& entry) { visit(magnitude(entry.value)); });
  };
  const int64_t part_count = (int64_t)state.parts.size();
  if (!has_long_list(group)) {
    return order_statistics(state.listed, state.ranks, [&](const auto& visit) {
      for (int64_t number = 0; number < part_count; ++number) visit_part(number, visit);
    });
  }
  return order_statistics_by_counting(state.listed, state.ranks, [&](auto& total, const auto& take, const auto& join) {
    const auto empty = total;
    std::mutex guard;
    Queue queue(part_count);
    on_each_thread([&] {
      auto own = empty;
      queue.work([&](int64_t number) { visit_part(number, [&](uint32_t bits) { take(own, bits); }); });
      const std::lock_guard<std::mutex> lock(guard);
      join(total, own);
    });
  });
}

// The 16 leading bits of all magnitudes are counted, then the 15 others of those that share a rank's leading bits. The
// magnitudes of a short vector are copied instead, for its bins would outnumber them.
void Call::count_everything(const std::function<bool(int64_t)>& wanted) {
  for_each_group([&](int64_t group) {
    if (wanted(group) && request_.groups[(size_t)group].dimension <= kBinned) count_copy(group);
  });
  for (int64_t group = 0; group < group_count(); ++group) {
    if (!wanted(group) || request_.groups[(size_t)group].dimension <= kBinned) continue;
    GroupState& state = states_[(size_t)group];
    state.pass_count += 2;
    Descent upper{state.ranks.upper}, lower{state.ranks.lower};
    count_prefixes(group, upper, lower);
    const int64_t dimension = request_.groups[(size_t)group].dimension;
    state.statistics = {upper.prefix, state.ranks.lower <= dimension ? lower.prefix : 0u,
                        state.ranks.lower <= dimension ? lower.above : dimension};
  }
}

void Call::count_copy(int64_t group) {
  const Group& members = request_.groups[(size_t)group];
  GroupState& state = states_[(size_t)group];
  std::vector<uint32_t> copy;
  copy.reserve((size_t)members.dimension);
  for (int64_t index = members.first_piece; index < members.first_piece + members.piece_count; ++index) {
    const Piece& piece = request_.pieces[(size_t)index];
    for (int64_t offset = 0; offset < piece.length; ++offset) copy.push_back(ranked_magnitude(piece.residual[offset]));
  }
  state.pass_count += 1;
  state.statistics = order_statistics(members.dimension, state.ranks, [&](const auto& visit) {
    for (const uint32_t bits : copy) visit(bits);
  });
}

void Call::count_prefixes(int64_t group, Descent& upper, Descent& lower) {
  constexpr int64_t kBins = 1 << 16;
  const auto is_ours = [&](int64_t other) { return other == group; };
  for (const int width : {16, 15}) {
    const int rest = width == 16 ? 15 : 0;
    std::vector<std::vector<uint32_t>> tables;
    std::mutex guard;
    Queue queue((int64_t)stretches_.size());
    on_each_thread([&] {
      std::vector<uint32_t> table(2 * kBins);
      const uint32_t mask = (1u << width) - 1;
      const auto count_tile = [&](int64_t, int64_t index, int64_t begin, int64_t length) {
        const float* vector = request_.pieces[(size_t)index].residual + begin;
        for (int64_t offset = 0; offset < length; ++offset) {
          const uint32_t bits = ranked_magnitude(vector[offset]);
          const uint32_t prefix = bits >> rest >> width, digit = bits >> rest & mask;
          if (prefix == upper.prefix) ++table[digit];
          if (prefix == lower.prefix) ++table[kBins + digit];
        }
      };
      queue.work([&](int64_t index) { for_each_tile(stretches_[(size_t)index], is_ours, count_tile); });
      const std::lock_guard<std::mutex> lock(guard);
      tables.push_back(std::move(table));
    });
    for (size_t other = 1; other < tables.size(); ++other) {
      for (int64_t bin = 0; bin < 2 * kBins; ++bin) tables[0][(size_t)bin] += tables[other][(size_t)bin];
    }
    upper.descend(tables[0].data(), width);
    lower.descend(tables[0].data() + kBins, width);
  }
}

uint32_t Call::sampled_bound(int64_t group, bool is_added) const {
  const Group& members = request_.groups[(size_t)group];
  const GroupState& state = states_[(size_t)group];
  const int64_t needed = state.ranks.lower;
  const double wanted = kSampledTail * (double)members.dimension / (double)needed;
  const double most = std::max<double>((double)members.dimension / 32.0, 16384.0);
  const int64_t stride = std::max<int64_t>(1, (int64_t)((double)members.dimension / std::min(wanted, most)));
  int64_t sampled = 0;
  const std::vector<uint32_t> sample = sampled_magnitudes(members, stride, is_added, sampled);
  const int64_t rank = sampled_rank(needed, state.list_capacity, sampled, members.dimension);
  return std::max(1u, largest_in_lines(sample, rank));
}

// Columns are no power of two apart, as the rows of weights are: what is large in one of their columns is spread.
uint32_t Call::folded_bound(int64_t group) const {
  const Group& members = request_.groups[(size_t)group];
  const int64_t needed = states_[(size_t)group].ranks.lower;
  const int64_t width = folded_width(needed);
  std::vector<uint32_t> maxima((size_t)width);
  for (int64_t index = members.first_piece; index < members.first_piece + members.piece_count; ++index) {
    loops().fold(request_.pieces[(size_t)index].residual, request_.pieces[(size_t)index].length, width, maxima.data());
  }
  return std::max(1u, largest(maxima, needed));
}

// The magnitudes of one line of entries in each `stride` lines of the group, at a place that a hash chooses; lines that
// end with their piece are filled up with zeros, which `sampled` does not count.
std::vector<uint32_t> Call::sampled_magnitudes(const Group& members, int64_t stride, bool is_added,
                                               int64_t& sampled) const {
  const Piece* const pieces = request_.pieces.data() + members.first_piece;
  std::vector<int64_t> first_lines{0};
  for (int64_t index = 0; index < members.piece_count; ++index) {
    first_lines.push_back(first_lines.back() + (pieces[index].length + kSampledLine - 1) / kSampledLine);
  }
  const int64_t line_count = first_lines.back(), window_count = (line_count + stride - 1) / stride;
  const size_t size = gradient_size(request_.gradient_type);
  std::vector<uint32_t> sample((size_t)(window_count * kSampledLine));
  std::atomic<int64_t> total{0};
  torch::stable::parallel_for(0, window_count, 2048, [&](int64_t from, int64_t to) {
    Entry unused[kSampledLine + kListSlack];
    int64_t count = 0;
    const auto place_of = [&](int64_t window) {
      const int64_t line = window * stride + (int64_t)(mixed((uint64_t)window) % (uint64_t)stride);
      const int64_t found = std::min(line, line_count - 1);
      const int64_t index = std::upper_bound(first_lines.begin(), first_lines.end(), found) - first_lines.begin() - 1;
      const int64_t begin = (found - first_lines[(size_t)index]) * kSampledLine;
      return Span{0, index, begin, std::min(kSampledLine, pieces[index].length - begin)};
    };
    for (int64_t window = from; window < to; ++window) {
      const Span ahead = place_of(window + kPrefetchedWindows), place = place_of(window);
      const auto gradient_at = [&](const Span& span) {
        return static_cast<const char*>(pieces[span.piece].gradient) + span.begin * (int64_t)size;
      };
      __builtin_prefetch(pieces[ahead.piece].residual + ahead.begin);
      if (!is_added) __builtin_prefetch(gradient_at(ahead));
      float values[kSampledLine] = {};
      std::copy_n(pieces[place.piece].residual + place.begin, place.length, values);
      if (!is_added) {
        loops().add_and_list(request_.gradient_type, gradient_at(place), values, place.length, kInfinityBits, 0, unused);
      }
      uint32_t* target = sample.data() + window * kSampledLine;
      for (int64_t offset = 0; offset < place.length; ++offset) target[offset] = ranked_magnitude(values[offset]);
      count += place.length;
    }
    total += count;
  });
  sampled = total;
  return sample;
}

}  // namespace sparsync

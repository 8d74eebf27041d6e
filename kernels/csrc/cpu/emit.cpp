// The end of a call on the CPU: what the cuts select leaves the residuals, in order, and the report is written.
#include <algorithm>
#include <iterator>
#include <vector>

#include "cpu/call.h"

namespace sparsync {

// The zeros that a group's cut selects, in order. With the non-zeros they are k entries, and no further than about the
// k-th entry of the vector: this is not another pass.
std::vector<Entry> Call::first_zeros(int64_t group) const {
  const Group& members = request_.groups[(size_t)group];
  const int64_t wanted = states_[(size_t)group].cut.tie_count;
  std::vector<Entry> zeros;
  zeros.reserve((size_t)wanted);
  for (int64_t index = members.first_piece; index < members.first_piece + members.piece_count; ++index) {
    const Piece& piece = request_.pieces[(size_t)index];
    for (int64_t offset = 0; offset < piece.length; ++offset) {
      if ((int64_t)zeros.size() == wanted) return zeros;
      const float value = piece.residual[offset];
      if (value == 0.0f) zeros.push_back({(uint32_t)(piece.group_offset + offset), value});
    }
  }
  return zeros;
}

// The first stretch keeps the new lists: they are short, and where they are from no longer matters.
void Call::list_zeros() {
  const auto lacks_zeros = [](const GroupState& state) { return state.list_lacks_zeros; };
  if (std::none_of(states_.begin(), states_.end(), lacks_zeros)) return;
  std::vector<std::vector<Entry>> lists((size_t)group_count());
  for_each_group([&](int64_t group) {
    if (!lacks_zeros(state(group))) return;
    std::vector<Entry> non_zeros;
    for (const auto& [stretch, part] : state(group).parts) {
      stretch->entries.for_each(part->first, part->count, [&](const Entry& entry) { non_zeros.push_back(entry); });
      part->is_live = false;
    }
    const std::vector<Entry> zeros = first_zeros(group);
    std::merge(zeros.begin(), zeros.end(), non_zeros.begin(), non_zeros.end(),
               std::back_inserter(lists[(size_t)group]),
               [](const Entry& one, const Entry& other) { return one.index < other.index; });
  });
  Stretch& keeper = stretches_.front();
  for (int64_t group = 0; group < group_count(); ++group) {
    if (!lacks_zeros(state(group))) continue;
    const std::vector<Entry>& list = lists[(size_t)group];
    keeper.parts.push_back({group, keeper.entries.size(), (int64_t)list.size()});
    keeper.entries.append(list.data(), (int64_t)list.size());
  }
}

void Call::emit() {
  for_each_stretch([&](Stretch& stretch) {
    for (Part& part : stretch.parts) {
      if (!part.is_live) continue;
      const uint32_t threshold = state(part.group).cut.threshold;
      int64_t above = 0, ties = 0;
      stretch.entries.for_each(part.first, part.count, [&](const Entry& entry) {
        const uint32_t bits = magnitude(entry.value);
        above += bits > threshold;
        ties += bits == threshold;
      });
      part.above_count = above;
      part.tie_count = ties;
    }
  });
  std::vector<int64_t> above((size_t)group_count()), ties((size_t)group_count());
  for (Stretch& stretch : stretches_) {
    for (Part& part : stretch.parts) {
      if (!part.is_live) continue;
      part.above_before = above[(size_t)part.group];
      part.ties_before = ties[(size_t)part.group];
      above[(size_t)part.group] += part.above_count;
      ties[(size_t)part.group] += part.tie_count;
    }
  }
  for_each_stretch([&](Stretch& stretch) {
    for (const Part& part : stretch.parts) {
      if (part.is_live) emit_part(stretch, part);
    }
  });
  for (int64_t group = 0; group < group_count(); ++group) finish_group(group, above[(size_t)group], ties[(size_t)group]);
}

void Call::emit_part(const Stretch& stretch, const Part& part) {
  const Group& members = request_.groups[(size_t)part.group];
  const Cut cut = state(part.group).cut;
  const bool is_emptied = state(part.group).is_emptied;
  const Piece* piece = &request_.pieces[(size_t)members.first_piece];
  int64_t ties = part.ties_before;
  int64_t position = part.above_before + std::min(part.ties_before, cut.tie_count);
  stretch.entries.for_each(part.first, part.count, [&](const Entry& entry) {
    const uint32_t bits = magnitude(entry.value);
    if (bits < cut.threshold || (bits == cut.threshold && ties++ >= cut.tie_count)) return;
    const int64_t place = position++;
    if (place >= members.capacity) return;
    request_.values[members.output_offset + place] = entry.value;
    request_.indices[members.output_offset + place] = (int32_t)entry.index;
    if (is_emptied) return;
    while ((int64_t)entry.index >= piece->group_offset + piece->length) ++piece;
    piece->residual[entry.index - piece->group_offset] = 0.0f;
  });
}

void Call::finish_group(int64_t group, int64_t above_count, int64_t tie_count) {
  const Group& members = request_.groups[(size_t)group];
  const GroupState& state = states_[(size_t)group];
  const int64_t selected = above_count + std::min(tie_count, state.cut.tie_count);
  const int64_t returned = std::min(selected, members.capacity);
  std::fill(request_.values + members.output_offset + returned, request_.values + members.output_offset + members.capacity,
            0.0f);
  std::fill(request_.indices + members.output_offset + returned,
            request_.indices + members.output_offset + members.capacity, -1);
  const int64_t first_non_finite = state.first_non_finite;
  int32_t* row = request_.report + group * kReportColumns;
  row[kReturned] = (int32_t)returned;
  row[kSelected] = (int32_t)selected;
  row[kFirstNonFinite] = first_non_finite == INT64_MAX ? -1 : (int32_t)first_non_finite;
  row[kStreamingPasses] = state.pass_count;
}

}  // namespace sparsync

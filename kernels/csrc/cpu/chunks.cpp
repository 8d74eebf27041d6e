// Chunk-wise Top-k on the CPU, in one pass: each tile, which is a chunk, is decided while a core's own cache holds it.
//
// A bound below the deciding magnitude of a tile lists a few more entries than are sent. The one that served the tile
// before is used while the gradient is added. Where it lists too few or far too many, the largest entries in each of
// somewhat more columns give another, which then serves the tiles to come. Which of the two it was changes no result.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "cpu/call.h"

namespace sparsync {
namespace {

// Entries that a bound should list where `share` are sent: their number differs from tile to tile by its square root.
int64_t wanted_count(int64_t share) { return share + (int64_t)(4.0 * std::sqrt((double)share)) + 4; }

// A magnitude that at least `wanted` entries of a tile reach, and few more if it has no structure; or 1, which all but
// zeros reach, where there are fewer, or columns would be too many to tell.
uint32_t reached_magnitude(const float* tile, int64_t length, int64_t wanted) {
  const int64_t width = folded_width(wanted);
  if (width > length) return 1;
  std::array<uint32_t, kTileSize> maxima;
  std::fill_n(maxima.begin(), width, 0u);
  loops().fold(tile, length, width, maxima.data());
  std::nth_element(maxima.begin(), maxima.begin() + (wanted - 1), maxima.begin() + width, std::greater<>());
  return std::max(1u, maxima[(size_t)wanted - 1]);
}

// The `share`-th largest of a list of more magnitudes.
Ranked find_least(const Entry* listed, int64_t count, int64_t share) {
  std::array<uint32_t, kTileSize> magnitudes;
  for (int64_t place = 0; place < count; ++place) magnitudes[(size_t)place] = magnitude(listed[place].value);
  if (count <= kMostRanked) {
    std::fill_n(magnitudes.begin() + count, 15, 0u);
    return loops().rank(magnitudes.data(), count, share);
  }
  const auto last = magnitudes.begin() + (share - 1);
  std::nth_element(magnitudes.begin(), last, magnitudes.begin() + count, std::greater<>());
  const uint32_t bits = *last;
  return {bits, std::count_if(magnitudes.begin(), last, [=](uint32_t other) { return other > bits; })};
}

// Takes all but the `share` largest out of a list, in order, by no branch that could be foreseen in half of the cases.
int64_t keep_largest(Entry* listed, int64_t count, int64_t share) {
  const Ranked least = find_least(listed, count, share);
  int64_t kept = 0, ties_left = share - least.above_count;
  for (int64_t place = 0; place < count; ++place) {
    const Entry entry = listed[place];
    const uint32_t bits = magnitude(entry.value);
    const int64_t is_tie = bits == least.bits;
    listed[kept] = entry;
    kept += (int64_t)(bits > least.bits) | (is_tie & (int64_t)(ties_left > 0));
    ties_left -= is_tie;
  }
  return kept;
}

}  // namespace

// Adds a tile's gradient and lists what the tile sends; `bound` is of a tile before, of the same group, or 0.
int64_t Call::list_chunk(const Span& tile, uint32_t& bound, Entry* listed) {
  const Group& members = request_.groups[(size_t)tile.group];
  const Piece& piece = request_.pieces[(size_t)tile.piece];
  const int64_t first = piece.group_offset + tile.begin;
  const int64_t share = chunk_share(members.target_count, members.dimension, first, first + tile.length);
  int64_t count = add_tile(tile, share == 0 || bound == 0 ? kInfinityBits : bound, listed);
  if (share == 0) return 0;
  const int64_t wanted = wanted_count(share);
  const auto list = [&](uint32_t least) {
    return loops().list(piece.residual + tile.begin, tile.length, least, (uint32_t)first, listed);
  };
  if (count < share || count > 4 * wanted) {
    bound = reached_magnitude(piece.residual + tile.begin, tile.length, wanted);
    count = list(bound);
  }
  if (count < share) count = list(0);
  if (count <= share) return count;  // of a residual that held NaN or infinity before, there may be fewer
  return keep_largest(listed, count, share);
}

void Call::add_and_list_chunks() {
  for_each_stretch([&](Stretch& stretch) {
    Entry listed[kTileSize + kListSlack];
    uint32_t bound = 0;
    int64_t known = -1;  // the group that it is of
    const auto everything = [](int64_t) { return true; };
    for_each_tile(stretch, everything, [&](int64_t group, int64_t index, int64_t begin, int64_t length) {
      if (std::exchange(known, group) != group) bound = 0;
      const int64_t count = list_chunk({group, index, begin, length}, bound, listed);
      if (count == 0) return;
      keep(stretch, group, listed, count);
      if (!states_[(size_t)group].is_emptied) return;
      const Piece& piece = request_.pieces[(size_t)index];
      for (int64_t place = 0; place < count; ++place) piece.residual[listed[place].index - piece.group_offset] = 0.0f;
    });
  });
  find_parts();
}

}  // namespace sparsync

// The candidates of one call: each stretch of the vector keeps its own, in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "core.h"
#include "cpu/loops.h"

namespace sparsync {

// An append-only list that never moves what it holds.
class EntryList {
 public:
  int64_t size() const { return size_; }

  void append(const Entry* entries, int64_t count) {
    while (count > 0) {
      const int64_t used = size_ % kBlockSize;
      if (used == 0) blocks_.emplace_back(new Entry[kBlockSize]);
      const int64_t fitting = std::min(count, kBlockSize - used);
      memcpy(blocks_.back().get() + used, entries, (size_t)fitting * sizeof(Entry));
      size_ += fitting;
      entries += fitting;
      count -= fitting;
    }
  }

  void clear() {
    blocks_.clear();
    size_ = 0;
  }

  // Calls visit(entry) for the entries [first, first + count) in order.
  template <class Visit>
  void for_each(int64_t first, int64_t count, const Visit& visit) const {
    while (count > 0) {
      const int64_t used = first % kBlockSize;
      const int64_t here = std::min(count, kBlockSize - used);
      const Entry* entries = blocks_[(size_t)(first / kBlockSize)].get() + used;
      for (int64_t index = 0; index < here; ++index) visit(entries[index]);
      first += here;
      count -= here;
    }
  }

 private:
  static constexpr int64_t kBlockSize = 512;  // a stretch has few candidates
  std::vector<std::unique_ptr<Entry[]>> blocks_;
  int64_t size_ = 0;
};

// Consecutive entries of one piece, beginning at a tile's edge.
struct Span {
  int64_t group;
  int64_t piece;
  int64_t begin;
  int64_t length;
};

// The candidates of one group that one stretch holds, and where its selected ones go.
struct Part {
  int64_t group;
  int64_t first;
  int64_t count = 0;
  int64_t untold = 0;  // listed, kept or not, and not yet in the group's count
  int64_t above_count = 0;   // of them, above the cut's threshold
  int64_t tie_count = 0;     // and equal to it
  int64_t above_before = 0;  // the same in the parts before
  int64_t ties_before = 0;
  bool is_live = true;       // false once another list has taken its place
};

// Consecutive tiles, which one thread works on at a time; neighbours share no cache line, for others write to theirs.
struct alignas(64) Stretch {
  std::vector<Span> spans;
  EntryList entries;
  std::vector<Part> parts;
};

inline int64_t tile_count(int64_t length) { return (length + kTileSize - 1) / kTileSize; }

// Cuts the tiles into stretches, as evenly as whole tiles allow.
inline std::vector<Stretch> cut_into_stretches(const Request& request, int64_t stretch_count) {
  int64_t total = 0;
  for (const Piece& piece : request.pieces) total += tile_count(piece.length);
  std::vector<Stretch> stretches((size_t)stretch_count);
  int64_t position = 0;
  for (int64_t group = 0; group < (int64_t)request.groups.size(); ++group) {
    const Group& members = request.groups[(size_t)group];
    for (int64_t piece = members.first_piece; piece < members.first_piece + members.piece_count; ++piece) {
      const int64_t length = request.pieces[(size_t)piece].length;
      for (int64_t begin = 0; begin < length;) {
        const int64_t stretch = position * stretch_count / total;
        const int64_t end = ((stretch + 1) * total + stretch_count - 1) / stretch_count;
        const int64_t taken = std::min((end - position) * kTileSize, length - begin);
        stretches[(size_t)stretch].spans.push_back({group, piece, begin, taken});
        position += tile_count(taken);
        begin += taken;
      }
    }
  }
  return stretches;
}

}  // namespace sparsync

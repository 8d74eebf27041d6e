// The host's side of the tables: rows of pieces and groups, and where everything lies in the workspace.
#pragma once

#include <vector>

#include "cuda/tables.cuh"

namespace sparsync {

inline int64_t rounded_up(int64_t number, int64_t unit) { return (number + unit - 1) / unit * unit; }

struct Plan {
  std::vector<PieceRow> pieces;
  std::vector<GroupRow> groups;
  int64_t tile_count = 0;
  int64_t chunk_tiles = kFewestChunkTiles;
  int64_t chunk_count = 0;
  int64_t bundle_count = 0;
  int64_t arena_count = 0;
  int64_t output_count = 0;
};

inline GroupRow plan_row(const Request& request, const Group& group, const Plan& plan) {
  const int64_t needed = deciding_ranks(request.rule, group.target_count).lower;
  const bool is_listed = is_ranked(request.rule) && list_is_worthwhile(needed, group.dimension);
  return {group.dimension,
          group.target_count,
          group.capacity,
          group.output_offset,
          plan.tile_count,
          0,
          plan.chunk_count,
          0,
          plan.bundle_count,
          plan.arena_count,
          is_listed ? candidate_capacity(needed, group.dimension) : 0,
          group.parameter};
}

inline PieceRow plan_row(const Request& request, const Piece& piece, int64_t first_tile, int64_t group) {
  const uintptr_t gradient_bytes = request.gradient_type == GradientType::kFloat32 ? 16 : 8;
  const bool is_aligned = reinterpret_cast<uintptr_t>(piece.residual) % 16 == 0 &&
                          reinterpret_cast<uintptr_t>(piece.gradient) % gradient_bytes == 0;
  return {piece.gradient, piece.residual,       piece.length, piece.group_offset,
          first_tile,     static_cast<int32_t>(group), is_aligned};
}

inline int64_t tile_count(const Piece& piece) { return rounded_up(piece.length, kTileSize) / kTileSize; }

inline int64_t chosen_chunk_tiles(const std::vector<Piece>& pieces) {
  int64_t tiles = 0, chosen = kFewestChunkTiles;
  for (const Piece& piece : pieces) tiles += tile_count(piece);
  while (chosen < kMostChunkTiles && tiles > chosen * kWantedChunks) chosen *= 2;
  return chosen;
}

inline Plan make_plan(const Request& request) {
  Plan plan;
  plan.chunk_tiles = chosen_chunk_tiles(request.pieces);
  plan.pieces.reserve(request.pieces.size());
  plan.groups.reserve(request.groups.size());
  for (size_t index = 0; index < request.groups.size(); ++index) {
    const Group& group = request.groups[index];
    GroupRow row = plan_row(request, group, plan);
    for (int64_t member = 0; member < group.piece_count; ++member) {
      const Piece& piece = request.pieces[static_cast<size_t>(group.first_piece + member)];
      plan.pieces.push_back(plan_row(request, piece, plan.tile_count, static_cast<int64_t>(index)));
      plan.tile_count += tile_count(piece);
    }
    row.tile_count = plan.tile_count - row.first_tile;
    row.chunk_count = rounded_up(row.tile_count, plan.chunk_tiles) / plan.chunk_tiles;
    plan.chunk_count += row.chunk_count;
    plan.bundle_count += bundle_count(row);
    plan.arena_count += row.list_capacity;
    plan.output_count += row.capacity;
    plan.groups.push_back(row);
  }
  return plan;
}

// Hands out the workspace in order; with a null beginning it only measures.
class Shelf {
 public:
  explicit Shelf(void* begin) : begin_(static_cast<char*>(begin)) {}

  template <class Item>
  Item* take(int64_t count) {
    char* const place = begin_ == nullptr ? nullptr : begin_ + used_;
    used_ += rounded_up(count * static_cast<int64_t>(sizeof(Item)), 16);
    return reinterpret_cast<Item*>(place);
  }

  int64_t used() const { return used_; }

 private:
  char* begin_;
  int64_t used_ = 0;
};

struct Layout {
  Tables tables;
  ClearedWords cleared;
  int64_t bytes;
};

inline Layout lay_out(const Request& request, const Plan& plan, void* workspace) {
  Layout layout{};
  Tables& tables = layout.tables;
  Shelf shelf(workspace);
  tables.rule = request.rule;
  tables.piece_count = static_cast<int64_t>(plan.pieces.size());
  tables.group_count = static_cast<int64_t>(plan.groups.size());
  tables.tile_count = plan.tile_count;
  tables.chunk_tiles = plan.chunk_tiles;
  tables.chunk_count = plan.chunk_count;
  tables.bundle_count = plan.bundle_count;
  tables.output_count = plan.output_count;
  tables.pieces = shelf.take<PieceRow>(tables.piece_count);
  tables.groups = shelf.take<GroupRow>(tables.group_count);
  const int64_t cleared_begin = shelf.used();
  tables.agenda = shelf.take<Agenda>(1);
  tables.states = shelf.take<GroupState>(tables.group_count);
  tables.histograms = shelf.take<uint32_t>(is_ranked(request.rule) ? tables.group_count * kHistogramBins : 0);
  tables.bundle_status = shelf.take<unsigned long long>(plan.bundle_count);
  tables.chunk_status = shelf.take<unsigned long long>(is_ranked(request.rule) ? plan.chunk_count : 0);
  tables.tile_status = shelf.take<unsigned long long>(request.rule == Rule::kChunkedTopK ? plan.tile_count : 0);
  constexpr int64_t kWordBytes = sizeof(unsigned long long);
  layout.cleared = {reinterpret_cast<unsigned long long*>(tables.agenda), (shelf.used() - cleared_begin) / kWordBytes};
  tables.tile_pieces = shelf.take<int32_t>(plan.tile_count);
  tables.chunk_groups = shelf.take<int32_t>(plan.chunk_count);
  tables.bundle_groups = shelf.take<int32_t>(plan.bundle_count);
  tables.slices = shelf.take<Slice>(plan.arena_count > 0 ? plan.tile_count : 0);
  tables.moments = shelf.take<Moments>(
      request.rule == Rule::kGaussianKReleased ? plan.tile_count + plan.chunk_count : 0);
  tables.arena = shelf.take<Candidate>(plan.arena_count);
  tables.values = request.values;
  tables.indices = request.indices;
  tables.report = request.report;
  tables.memory = request.memory;
  layout.bytes = shelf.used();
  return layout;
}

}  // namespace sparsync

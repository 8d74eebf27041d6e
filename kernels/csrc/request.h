// What one call of `feedback_select_` asks for, free of torch: pointers, lengths and targets.
//
// A *piece* is one tensor. A *group* is what one selection ranges over: consecutive pieces, one for the
// per-tensor form, all for the whole-vector form. Indices count from the beginning of the group.
#pragma once

#include <cstdint>
#include <vector>

namespace sparsync {

enum class Rule : int64_t { kTopK = 0, kGaussianK = 1, kGaussianKReleased = 2, kThreshold = 3, kChunkedTopK = 4 };

enum class GradientType : int { kFloat32 = 0, kBfloat16 = 1, kFloat16 = 2 };

struct Piece {
  const void* gradient;  // [length]
  float* residual;       // [length], becomes residual + gradient without what is selected
  int64_t length;
  int64_t group_offset;  // index of the piece's first entry within its group
};

struct Group {
  int64_t first_piece;
  int64_t piece_count;
  int64_t dimension;      // sum of the pieces' lengths, 1 <= dimension < 2^31
  int64_t target_count;   // k, 1 <= k <= dimension
  int64_t capacity;       // at most this many entries are returned, lowest indices first
  int64_t output_offset;  // where the group's entries begin in values and indices
  double parameter;       // the z of kGaussianKReleased, the threshold of kThreshold, otherwise unused
};

// One row of the report, int32 on the call's device.
enum ReportColumn : int { kReturned = 0, kSelected = 1, kFirstNonFinite = 2, kStreamingPasses = 3, kReportColumns = 4 };

// One row of the memory, int32: the bound of the next candidate list (magnitude bits, 0: none yet) and the
// distance in magnitude bits that it keeps from the deciding order statistic.
enum MemoryColumn : int { kBound = 0, kMargin = 1, kMemoryColumns = 2 };

struct Request {
  Rule rule;
  GradientType gradient_type;
  std::vector<Piece> pieces;
  std::vector<Group> groups;
  float* values;     // [sum of capacities]; unused places hold 0
  int32_t* indices;  // [sum of capacities]; unused places hold -1
  int32_t* report;   // [groups, kReportColumns]
  int32_t* memory;   // [groups, kMemoryColumns], read and written; any content is safe
};

}  // namespace sparsync

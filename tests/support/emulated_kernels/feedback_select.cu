// The op without torch, for ctypes: on the host's memory, by the emulated kernels.
#include "cuda/select.cuh"

#include <cstdio>
#include <exception>

using namespace sparsync;

#define EXPORTED extern "C" __attribute__((visibility("default")))

struct Pieces {
  int64_t count;
  const void* const* gradients;
  float* const* residuals;
  const int64_t* lengths;
};

struct Targets {
  int64_t count;
  const int64_t* counts;
  const double* parameters;
  const int64_t* capacities;
};

static Request make_request(int rule, int type, const Pieces& pieces, const Targets& targets) {
  Request request{};
  request.rule = static_cast<Rule>(rule);
  request.gradient_type = static_cast<GradientType>(type);
  for (int64_t piece = 0; piece < pieces.count; ++piece) {
    request.pieces.push_back({pieces.gradients[piece], pieces.residuals[piece], pieces.lengths[piece], 0});
  }
  const int64_t members = pieces.count / targets.count;
  int64_t output_offset = 0;
  for (int64_t index = 0; index < targets.count; ++index) {
    Group group{index * members,      members, 0, targets.counts[index], targets.capacities[index], output_offset,
                targets.parameters[index]};
    for (int64_t piece = group.first_piece; piece < group.first_piece + members; ++piece) {
      request.pieces[static_cast<size_t>(piece)].group_offset = group.dimension;
      group.dimension += pieces.lengths[piece];
    }
    output_offset += group.capacity;
    request.groups.push_back(group);
  }
  return request;
}

EXPORTED int64_t feedback_workspace_bytes(int rule, int type, const Pieces* pieces, const Targets* targets) {
  const Request request = make_request(rule, type, *pieces, *targets);
  return lay_out(request, make_plan(request), nullptr).bytes;
}

// `workspace`: feedback_workspace_bytes, aligned to 16 bytes. Returns 0, or 1 with a message.
EXPORTED int feedback_select(int rule, int type, const Pieces* pieces, const Targets* targets, float* values,
                             int32_t* indices, int32_t* report, int32_t* memory, void* workspace, char* message,
                             int message_size) {
  try {
    Request request = make_request(rule, type, *pieces, *targets);
    request.values = values;
    request.indices = indices;
    request.report = report;
    request.memory = memory;
    select_on_cuda(request, make_plan(request), workspace, stream_t{});
    return 0;
  } catch (const std::exception& error) {
    snprintf(message, static_cast<size_t>(message_size), "%s", error.what());
    return 1;
  }
}

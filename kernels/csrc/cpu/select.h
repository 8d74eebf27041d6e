// The op on the CPU.
#pragma once

#include "request.h"

namespace sparsync {

void select_on_cpu(const Request& request);

}  // namespace sparsync

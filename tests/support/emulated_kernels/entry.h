// What the toys share; `report` is how ctypes calls them: 0, or 1 with the error's text in `message`, of 1024 bytes.
#pragma once

#include <cstdio>
#include <stdexcept>

#include "portability.h"

constexpr unsigned kFull = 0xffffffffu;

template <class Body>
int report(char* message, const Body& body) {
  try {
    body();
    return 0;
  } catch (const std::runtime_error& error) {
    snprintf(message, 1024, "%s", error.what());
    return 1;
  }
}

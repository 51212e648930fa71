// Precompiled for the scheduler: what most of its files include. A file still includes what it
// uses.
// No #pragma once: GCC warns of it in the file that it precompiles.
#ifndef LEAT_PCH_SCHEDULER_H
#define LEAT_PCH_SCHEDULER_H

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "leat/status.h"

#endif  // LEAT_PCH_SCHEDULER_H

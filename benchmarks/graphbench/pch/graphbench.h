// Precompiled for graphbench: what most of its files include. A file still includes what it uses.
// No #pragma once: GCC warns of it in the file that it precompiles.
#ifndef LEAT_PCH_GRAPHBENCH_H
#define LEAT_PCH_GRAPHBENCH_H

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "leat/runtime.h"

#endif  // LEAT_PCH_GRAPHBENCH_H

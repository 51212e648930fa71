// Precompiled for the library's targets: what most of their files include.
//
// A file still includes what it uses: some builds, and the linter, read it without this.
// Nothing of Highway: its headers are read once for each instruction set.
// No #pragma once: GCC warns of it in the file that it precompiles.
#ifndef LEAT_PCH_LIBRARY_H
#define LEAT_PCH_LIBRARY_H

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "graph/op_def.h"

#endif  // LEAT_PCH_LIBRARY_H

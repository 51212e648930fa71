// Precompiled for test programs of many files: what most of them include. A file still includes
// what it uses.
// No #pragma once: GCC warns of it in the file that it precompiles.
#ifndef LEAT_PCH_TESTS_H
#define LEAT_PCH_TESTS_H

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "graph/op_def.h"
#include "leat/runtime.h"

#endif  // LEAT_PCH_TESTS_H

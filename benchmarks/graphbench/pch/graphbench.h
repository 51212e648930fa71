// Precompiled for graphbench: what most of its files include. A file still includes what it uses.
#pragma once

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

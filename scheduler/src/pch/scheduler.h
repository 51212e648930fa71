// Precompiled for the scheduler: what most of its files include. A file still includes what it
// uses.
#pragma once

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

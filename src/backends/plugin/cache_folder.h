// Where backends may keep what is slow to make.
#pragma once

#include <string>
#include <string_view>

#include "backends/plugin/host_services.h"

namespace leat {

// $XDG_CACHE_HOME/leat, or ~/.cache/leat where that is not set to an absolute path, whether it is
// there or not. Empty without a home.
std::string cache_root();

// $XDG_CACHE_HOME/leat/BACKEND, or ~/.cache/leat/BACKEND where that is not set to an absolute path,
// made if it does not exist. Empty if that fails, which `log` is told, or without a home.
std::string make_cache_folder(std::string_view backend, const HostServices::Log& log);

}  // namespace leat

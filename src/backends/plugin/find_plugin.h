// Where the shared object of a backend is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace leat {

// libdir/leat/backends of the installation that this was built for.
std::string_view installed_plugin_folder();

// The file of the backend of that name: `path` itself if it is a file, else leat_NAME.so in the
// folder `path` (if not empty) or in the installed folder, in this order. not_found names every
// place that was looked at. invalid_argument: `path` is neither a file nor a folder.
Result<std::string> find_plugin(std::string_view backend, const std::string& path = {});

// All files leat_*.so of a folder, sorted; empty if it cannot be read.
std::vector<std::string> plugins_in(const std::string& folder);

}  // namespace leat

// SharedObject: a library that somebody named by its file, loaded for its functions.
#pragma once

#include <memory>
#include <string>

#include "leat/status.h"

namespace leat {

struct SharedObjectCloser {
    void operator()(void* handle) const noexcept;
};

// What dlsym() asks. Closed again unless it is released.
using SharedObject = std::unique_ptr<void, SharedObjectCloser>;

// `file` is a path as of any other file. A name without a slash is one in the current folder: the
// dynamic linker alone would look for it in its own folders.
// Errors: not_found (no such file, or the linker's reason why it cannot be loaded),
// invalid_argument (an empty name, a folder, a pipe or a device: opening a pipe would wait for
// whoever writes it), parse (it is shorter than its headers say).
Result<SharedObject> open_shared_object(const std::string& file);

}  // namespace leat

// The devices that options name: the list itself, whether its backends are there, and their
// settings.
#pragma once

#include <string>

#include "leat/runtime.h"
#include "leat/status.h"
#include "options.h"

namespace leat::bench {

// The list of backends that --backend or --device gives.
std::string backends_of(const Options& options);
// What is wrong with --backend-setting and with the list: names of backends that the command does
// not use, or that have no settings, and names that are empty. Errors: invalid_argument.
Status check_device_options(const Options& options);
// exit_code_for() an error of compiling for these devices: that of a device that is not there, if
// nothing can be compiled for them.
int exit_code_for_devices(const Runtime& runtime,
                          const std::string& devices,
                          const Status& status,
                          bool at_run = false);
// not_found, with the list, when a backend is unknown or not available.
Status check_backends(const Runtime& runtime, const std::string& backends);

}  // namespace leat::bench

// RunStop: whether somebody has given up the run of a kernel, for kernels that take long.
#pragma once

namespace leat {

struct RunStop {
    bool (*ask)(const void* run) = nullptr;  // null: nobody can
    const void* run = nullptr;

    bool is_asked_for() const { return ask != nullptr && ask(run); }
};

}  // namespace leat

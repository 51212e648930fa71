// The program of the shapes that were asked for last: link() follows requirements().
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "leat/plugin_backend.h"

namespace leat::lowered {

// Everything that a program depends on beside its graph: equal keys, equal programs.
std::string key_of(const LeatRunShape& shape);

// Thread-safe: two threads may make a program at the same time, and then the later one is kept.
template <class Program>
class LastProgram {
  public:
    // make(former) returns a std::shared_ptr<const Program>; former: the last one, which is for
    // another shape, or null. What it throws changes nothing.
    template <class Make>
    std::shared_ptr<const Program> of(const LeatRunShape& shape, Make&& make) {
        std::string key = key_of(shape);
        std::shared_ptr<const Program> former;
        {
            const std::lock_guard lock(mutex_);
            if (program_ != nullptr && key_ == key) {
                return program_;
            }
            former = program_;
        }
        std::shared_ptr<const Program> made = make(former.get());
        const std::lock_guard lock(mutex_);
        key_ = std::move(key);
        program_ = made;
        return made;
    }

  private:
    std::mutex mutex_;
    std::string key_;
    std::shared_ptr<const Program> program_;
};

}  // namespace leat::lowered

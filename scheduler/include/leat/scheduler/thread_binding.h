// ThreadBinding: keeps the calling thread on given CPUs for a moment, as far as its own mask allows
// them, and gives it that mask back.
//
// Used by one thread at a time. Nothing allocates after the constructor.
#pragma once

#include <memory>
#include <span>

#include "leat/export.h"

namespace leat::scheduler {

class LEAT_API ThreadBinding {
  public:
    // Binds nothing yet.
    explicit ThreadBinding(std::span<const int> cpus);
    ~ThreadBinding();  // restores
    ThreadBinding(ThreadBinding&&) noexcept;
    ThreadBinding& operator=(ThreadBinding&&) noexcept;

    // False: the thread may use none of the CPUs, or the system refuses; then nothing has changed.
    bool bind();
    // After bind(), by the same thread: the mask is again what it was.
    void restore();

  private:
    struct Masks;
    std::unique_ptr<Masks> masks_;
    bool is_bound_ = false;
};

}  // namespace leat::scheduler

// Objects that one thread uses at a time say so to a second one, instead of being wrong for both.
#pragma once

#include <atomic>
#include <cstdint>

namespace leat {

// Who uses an object: nobody, one that may change it, or any number of readers. What one that may
// change it wrote is visible to whoever comes next. Each call is an atomic operation or two.
class UseFlag {
  public:
    // False: somebody uses it already.
    bool begin() {
        int32_t nobody = 0;
        return users_.compare_exchange_strong(nobody, kAlone, std::memory_order_acquire,
                                              std::memory_order_relaxed);
    }
    void end() { users_.store(0, std::memory_order_release); }

    // False: somebody may be changing it.
    bool begin_reading() {
        int32_t readers = users_.load(std::memory_order_relaxed);
        while (readers != kAlone) {
            if (users_.compare_exchange_weak(readers, readers + 1, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }
    void end_reading() { users_.fetch_sub(1, std::memory_order_release); }

  private:
    static constexpr int32_t kAlone = -1;
    std::atomic<int32_t> users_{0};  // kAlone, or the number of readers
};

// A use that may change the object; it ends with this, if it began.
class Use {
  public:
    explicit Use(UseFlag& flag) : flag_(flag), is_own_(flag.begin()) {}
    ~Use() {
        if (is_own_) {
            flag_.end();
        }
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    bool has_begun() const { return is_own_; }
    // It goes on until somebody ends it.
    void keep() { is_own_ = false; }

  private:
    UseFlag& flag_;
    bool is_own_;
};

// The same of a reader.
class Reading {
  public:
    explicit Reading(UseFlag& flag) : flag_(flag), has_begun_(flag.begin_reading()) {}
    ~Reading() {
        if (has_begun_) {
            flag_.end_reading();
        }
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    bool has_begun() const { return has_begun_; }

  private:
    UseFlag& flag_;
    const bool has_begun_;
};

}  // namespace leat

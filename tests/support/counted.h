// Counted: a value that knows how many of its kind live and were copied.
#pragma once

#include <atomic>
#include <utility>

namespace leat::testing_support {

class Counted {
  public:
    explicit Counted(int number) : number_(number) { ++live_; }
    Counted(const Counted& other) : number_(other.number_) {
        ++live_;
        ++copies_;
    }
    Counted(Counted&& other) noexcept : number_(std::exchange(other.number_, -1)) { ++live_; }
    Counted& operator=(const Counted& other) {
        number_ = other.number_;
        ++copies_;
        return *this;
    }
    Counted& operator=(Counted&& other) noexcept {
        number_ = std::exchange(other.number_, -1);
        return *this;
    }
    ~Counted() { --live_; }

    int number() const { return number_; }  // -1: moved away
    static int live() { return live_; }
    static int copies() { return copies_; }
    static void reset_copies() { copies_ = 0; }

  private:
    int number_;
    static inline std::atomic<int> live_{0};
    static inline std::atomic<int> copies_{0};
};

}  // namespace leat::testing_support

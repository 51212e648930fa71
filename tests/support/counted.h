// Counted: a value that knows how many of its kind live and were copied.
#pragma once

#include <atomic>
#include <utility>

namespace leat::testing_support {

class Counted {
  public:
    explicit Counted(int number) : number_(number) { ++live_values; }
    Counted(const Counted& other) : number_(other.number_) {
        ++live_values;
        ++copies_made;
    }
    Counted(Counted&& other) noexcept : number_(std::exchange(other.number_, -1)) { ++live_values; }
    Counted& operator=(const Counted& other) {
        number_ = other.number_;
        ++copies_made;
        return *this;
    }
    Counted& operator=(Counted&& other) noexcept {
        number_ = std::exchange(other.number_, -1);
        return *this;
    }
    ~Counted() { --live_values; }

    int number() const { return number_; }  // -1: moved away
    int take() { return std::exchange(number_, -1); }
    void add(int more) { number_ += more; }
    static int live() { return live_values; }
    static int copies() { return copies_made; }
    static void reset_copies() { copies_made = 0; }

  private:
    int number_;
    static inline std::atomic<int> live_values{0};
    static inline std::atomic<int> copies_made{0};
};

}  // namespace leat::testing_support

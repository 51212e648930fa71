// Descriptor: an open file of the system; closed at the end.
#pragma once

#include <unistd.h>

#include <utility>

namespace leat {

class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int value) : value_(value) {}
    Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~Descriptor() { (void)close(); }

    bool is_open() const { return value_ >= 0; }
    int value() const { return value_; }
    // False, with errno, where the system has an error to tell only now.
    bool close() {
        const int value = std::exchange(value_, -1);
        return value < 0 || ::close(value) == 0;
    }

  private:
    int value_ = -1;
};

}  // namespace leat

// Makes chosen allocations of the calling thread, or of all threads, fail, and counts what it
// holds. A program that links failing_allocations.cpp has its operator new replaced, in all forms
// and also for shared libraries, and needs the linker's --wrap for mmap, mmap64, munmap,
// aligned_alloc and free, which then covers the calls of the program's own object files.
//
// Thread safety: every thread has its own counts and faults; a FaultOfAll is the only one of its
// time.
#pragma once

#include <cstdint>

namespace leat::testing_support {

enum class Allocation : uint8_t { kNew, kAligned, kMapping };
enum class Reach : uint8_t { kOne, kAllFrom };  // the k-th allocation, or that and all later ones

// What this thread allocated and did not free, by any of the three.
int64_t live_bytes();

// The k-th allocation of one kind, counted from 1, in one call.
class Fault {
  public:
    Fault(Allocation kind, Reach reach, int64_t k) : kind_(kind), reach_(reach), k_(k) {}

    // What `call` returns, on this thread, with the fault.
    template <class Call>
    auto during(const Call& call) {
        const Armed armed(*this);
        return call();
    }

    // Some allocation failed.
    bool has_struck() const { return failed_ > 0; }
    // All that failed were told by a null pointer of operator new(std::nothrow): whoever asks like
    // that may do without the memory, as std::stable_sort does.
    bool may_be_harmless() const { return failed_ > 0 && failed_ == null_; }

  private:
    struct Armed {
        explicit Armed(Fault& fault);
        ~Armed();
        Armed(const Armed&) = delete;
        Armed& operator=(const Armed&) = delete;
        Fault& owner;
    };

    Allocation kind_;
    Reach reach_;
    int64_t k_;
    int64_t failed_ = 0;
    int64_t null_ = 0;
};

// The k-th operator new of all threads together, counted from 1, until the end of the scope.
class FaultOfAll {
  public:
    FaultOfAll(Reach reach, int64_t k);
    ~FaultOfAll();
    FaultOfAll(const FaultOfAll&) = delete;
    FaultOfAll& operator=(const FaultOfAll&) = delete;

    // Some allocation failed.
    static bool has_struck();
    // As Fault::may_be_harmless().
    static bool may_be_harmless();
};

}  // namespace leat::testing_support

#include "failing_allocations.h"

#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

namespace leat::testing_support {
namespace {

// Plain data: it is there before the first allocation.
struct ThreadState {
    bool is_armed = false;
    Allocation kind = Allocation::kNew;
    Reach reach = Reach::kOne;
    int64_t k = 0;
    int64_t seen = 0;    // of the kind, while armed
    int64_t failed = 0;  // of these
    int64_t null = 0;    // of these: by operator new(std::nothrow)
    int64_t live_bytes = 0;
};
constinit thread_local ThreadState t_state;

// Of a FaultOfAll. Atomic: a thread may allocate while one begins or ends.
struct SharedState {
    std::atomic<bool> is_armed{false};
    std::atomic<bool> goes_on{false};  // Reach::kAllFrom
    std::atomic<int64_t> k{0};
    std::atomic<int64_t> seen{0};
    std::atomic<int64_t> failed{0};
    std::atomic<int64_t> null{0};
};
constinit SharedState all;

bool fails_in_all() {
    if (!all.is_armed) {
        return false;
    }
    const int64_t number = ++all.seen;
    const bool is_meant = number == all.k || (all.goes_on && number > all.k);
    all.failed += is_meant ? 1 : 0;
    return is_meant;
}

bool fails(Allocation kind) {
    ThreadState& here = t_state;
    if (kind == Allocation::kNew && fails_in_all()) {
        return true;
    }
    if (!here.is_armed || here.kind != kind) {
        return false;
    }
    ++here.seen;
    const bool is_meant =
        here.seen == here.k || (here.reach == Reach::kAllFrom && here.seen > here.k);
    here.failed += is_meant ? 1 : 0;
    return is_meant;
}

void* count_in(void* memory) {
    t_state.live_bytes += memory == nullptr ? 0 : int64_t(malloc_usable_size(memory));
    return memory;
}

void count_out(void* memory) {
    t_state.live_bytes -= memory == nullptr ? 0 : int64_t(malloc_usable_size(memory));
}

}  // namespace

int64_t live_bytes() {
    return t_state.live_bytes;
}

Fault::Armed::Armed(Fault& fault) : owner(fault) {
    t_state = {true, fault.kind_, fault.reach_, fault.k_, 0, 0, 0, t_state.live_bytes};
}

Fault::Armed::~Armed() {
    t_state.is_armed = false;
    owner.failed_ += t_state.failed;
    owner.null_ += t_state.null;
}

FaultOfAll::FaultOfAll(Reach reach, int64_t k) {
    all.goes_on = reach == Reach::kAllFrom;
    all.k = k;
    all.seen = 0;
    all.failed = 0;
    all.null = 0;
    all.is_armed = true;
}

FaultOfAll::~FaultOfAll() {
    all.is_armed = false;
}

bool FaultOfAll::has_struck() {
    return all.failed > 0;
}

bool FaultOfAll::may_be_harmless() {
    return all.failed > 0 && all.failed == all.null;
}

}  // namespace leat::testing_support

using leat::testing_support::Allocation;
using leat::testing_support::count_in;
using leat::testing_support::count_out;
using leat::testing_support::fails;
using leat::testing_support::t_state;

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
extern "C" {
void* __real_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void* memory);
void* __real_mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset);
void* __real_mmap64(void* at, size_t bytes, int protection, int flags, int file, off64_t offset);
int __real_munmap(void* at, size_t bytes);

static void* map(decltype(__real_mmap64) call,
                 void* at,
                 size_t bytes,
                 int protection,
                 int flags,
                 int file,
                 off64_t offset) {
    if (fails(Allocation::kMapping)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void* memory = call(at, bytes, protection, flags, file, offset);
    t_state.live_bytes += memory == MAP_FAILED ? 0 : int64_t(bytes);
    return memory;
}

void* __wrap_aligned_alloc(size_t alignment, size_t bytes) {
    return fails(Allocation::kAligned) ? nullptr : count_in(__real_aligned_alloc(alignment, bytes));
}
void __wrap_free(void* memory) {
    count_out(memory);
    __real_free(memory);
}
void* __wrap_mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
    return map(__real_mmap, at, bytes, protection, flags, file, offset);
}
// What <sys/mman.h> calls where files of any size are asked for.
void* __wrap_mmap64(void* at, size_t bytes, int protection, int flags, int file, off64_t offset) {
    return map(__real_mmap64, at, bytes, protection, flags, file, offset);
}
int __wrap_munmap(void* at, size_t bytes) {
    t_state.live_bytes -= int64_t(bytes);
    return __real_munmap(at, bytes);
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

void* allocate(size_t bytes, size_t alignment) {
    if (fails(Allocation::kNew)) {
        return nullptr;
    }
    const size_t rounded = (bytes / alignment + 1) * alignment;
    return count_in(alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                        ? std::malloc(rounded)
                        : __real_aligned_alloc(alignment, rounded));
}

void* allocate_or_throw(size_t bytes, size_t alignment) {
    void* memory = allocate(bytes, alignment);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return memory;
}

void* allocate_or_null(size_t bytes, size_t alignment) {
    void* memory = allocate(bytes, alignment);
    t_state.null += memory == nullptr ? 1 : 0;
    leat::testing_support::all.null += memory == nullptr ? 1 : 0;
    return memory;
}

void give_back(void* memory) {
    count_out(memory);
    __real_free(memory);
}

}  // namespace

// The standard library's other forms call these. Its nothrow forms would catch what they throw.
void* operator new(size_t bytes) {
    return allocate_or_throw(bytes, 1);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
    return allocate_or_throw(bytes, size_t(alignment));
}
void* operator new(size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
    return allocate_or_null(bytes, 1);
}
void* operator new(size_t bytes,
                   std::align_val_t alignment,
                   const std::nothrow_t& /*tag*/) noexcept {
    return allocate_or_null(bytes, size_t(alignment));
}
void* operator new[](size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
    return allocate_or_null(bytes, 1);
}
void* operator new[](size_t bytes,
                     std::align_val_t alignment,
                     const std::nothrow_t& /*tag*/) noexcept {
    return allocate_or_null(bytes, size_t(alignment));
}
void operator delete(void* memory) noexcept {
    give_back(memory);
}
void operator delete(void* memory, size_t /*bytes*/) noexcept {
    give_back(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
    give_back(memory);
}
void operator delete(void* memory, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
    give_back(memory);
}

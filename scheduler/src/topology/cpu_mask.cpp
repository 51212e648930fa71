#include "topology/cpu_mask.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

namespace leat::scheduler {
namespace {

constexpr int kWordBits = int(sizeof(unsigned long) * CHAR_BIT);  // NOLINT(google-runtime-int)
constexpr int kMostCpus = 65536;

}  // namespace

CpuMask::CpuMask() : words_(kMostCpus / kWordBits) {}

CpuMask::CpuMask(int cpu)
    : words_(size_t(cpu / kWordBits) + 1), bytes_(words_.size() * sizeof(words_[0])) {
    words_.back() = 1UL << (cpu % kWordBits);
}

CpuMask::CpuMask(std::span<const int> cpus) {
    for (const int cpu : cpus) {
        const auto word = size_t(cpu / kWordBits);
        if (word >= words_.size()) {
            words_.resize(word + 1);
        }
        words_[word] |= 1UL << (cpu % kWordBits);
    }
    bytes_ = words_.size() * sizeof(words_[0]);
}

bool CpuMask::read(int id) {
    const long bytes =  // NOLINT(google-runtime-int): the system call's type
        ::syscall(SYS_sched_getaffinity, id, words_.size() * sizeof(words_[0]), words_.data());
    bytes_ = bytes > 0 ? size_t(bytes) : 0;
    return bytes > 0;
}

bool CpuMask::apply(int id) const {
    return bytes_ > 0 && ::syscall(SYS_sched_setaffinity, id, bytes_, words_.data()) == 0;
}

void CpuMask::copy_without(const CpuMask& other, int cpu) {
    const size_t words = other.bytes_ / sizeof(words_[0]);
    std::copy_n(other.words_.begin(), words, words_.begin());
    bytes_ = other.bytes_;
    const auto word = size_t(cpu / kWordBits);
    if (cpu >= 0 && word < words) {
        words_[word] &= ~(1UL << (cpu % kWordBits));
    }
    const auto end = words_.begin() + ptrdiff_t(words);
    if (std::all_of(words_.begin(), end, [](auto bits) { return bits == 0; })) {
        std::copy_n(other.words_.begin(), words, words_.begin());
    }
}

bool CpuMask::copy_common(const CpuMask& one, const CpuMask& other) {
    bytes_ = std::min({one.bytes_, other.bytes_, words_.size() * sizeof(words_[0])});
    bool has_any = false;
    for (size_t i = 0; i < bytes_ / sizeof(words_[0]); ++i) {
        words_[i] = one.words_[i] & other.words_[i];
        has_any = has_any || words_[i] != 0;
    }
    return has_any;
}

// CPUs beyond a mask's size are not in it.
bool CpuMask::operator==(const CpuMask& other) const {
    const auto word = [](const CpuMask& mask, size_t i) {
        return i < mask.bytes_ / sizeof(words_[0]) ? mask.words_[i] : 0;
    };
    const size_t words = std::max(bytes_, other.bytes_) / sizeof(words_[0]);
    for (size_t i = 0; i < words; ++i) {
        if (word(*this, i) != word(other, i)) {
            return false;
        }
    }
    return true;
}

}  // namespace leat::scheduler

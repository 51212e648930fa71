#include "cpu_mask.h"

#include <sys/syscall.h>
#include <unistd.h>

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

bool CpuMask::read(int id) {
    const long bytes =  // NOLINT(google-runtime-int): the system call's type
        ::syscall(SYS_sched_getaffinity, id, words_.size() * sizeof(words_[0]), words_.data());
    bytes_ = bytes > 0 ? size_t(bytes) : 0;
    return bytes > 0;
}

bool CpuMask::apply(int id) const {
    return bytes_ > 0 && ::syscall(SYS_sched_setaffinity, id, bytes_, words_.data()) == 0;
}

}  // namespace leat::scheduler

// CpuMask: on which CPUs a thread may run, as the kernel keeps it, of any size.
//
// The system calls themselves: glibc's wrappers zero and copy, and its sets end at 1,024 CPUs.
// Nothing allocates after the constructor.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace leat::scheduler {

class CpuMask {
  public:
    // Room for the mask of any thread. The kernel refuses to fill one that is smaller than its own;
    // 65,536 CPUs are enough.
    CpuMask();
    // One CPU.
    explicit CpuMask(int cpu);
    explicit CpuMask(std::span<const int> cpus);

    // Of the thread `id`, 0: the calling one. False, with errno set: the system refuses.
    bool read(int id);
    bool apply(int id) const;

    // Becomes `other` without `cpu`, or `other` where that leaves none.
    void copy_without(const CpuMask& other, int cpu);
    // Becomes the CPUs that are in both. False: there are none.
    bool copy_common(const CpuMask& one, const CpuMask& other);
    bool operator==(const CpuMask& other) const;

  private:
    std::vector<unsigned long> words_;  // NOLINT(google-runtime-int): the kernel's type
    size_t bytes_ = 0;                  // that the kernel knows
};

}  // namespace leat::scheduler

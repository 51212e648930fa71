// Unique of single numbers: they are sorted once, with their places; the rest are passes over
// arrays of integers.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "backends/cpu/cpu_kernel.h"
#include "ops/element.h"
#include "ops/open_result.h"
#include "ops/radix_sort.h"
#include "ops/unique/unique.h"

namespace leat {
namespace {

// Bits as a number that is the larger the larger the float is; NaNs are one, the largest.
template <class Bits, class Float>
Bits ascending_bits(Float x) {
    constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
    if (x != x) {
        return std::numeric_limits<Bits>::max();
    }
    const auto bits = std::bit_cast<Bits>(x + Float(0));  // one zero
    return (bits & kSign) != 0 ? Bits(~bits) : Bits(bits | kSign);
}

template <class T>
using UniqueRank = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;

// A number that orders elements as the card says.
template <class T>
UniqueRank<T> unique_rank(T x) {
    using Rank = UniqueRank<T>;
    if constexpr (std::is_integral_v<T>) {
        constexpr Rank kOffset = std::is_signed_v<T> ? Rank{1} << (sizeof(Rank) * 8 - 1) : Rank{0};
        return Rank(x) + kOffset;
    } else {
        return ascending_bits<Rank>(comparable(x));
    }
}

template <class T>
class UniqueKernel final : public cpu::CpuKernel {
  public:
    UniqueKernel(const NodeData& node, int64_t count)
        : node_(node), count_(count), sorted_(node.attr("sorted", int64_t{1}) != 0) {
        kernel_name = "unique_sorted";
        names_node = true;
        scratch_bytes = count * int64_t{2 * sizeof(Entry) + 4 * sizeof(int64_t)};
    }

    Status run(const cpu::KernelArgs& args, int64_t /*begin*/, int64_t /*end*/) const override {
        const T* const x = args.inputs[0].as<const T>();
        auto* const entries = reinterpret_cast<Entry*>(args.scratch);
        Groups groups(reinterpret_cast<int64_t*>(entries + 2 * count_), count_);
        for (int64_t i = 0; i < count_; ++i) {
            entries[i] = {unique_rank(x[i]), uint32_t(i)};
        }
        groups.find(sort_ranked(entries, entries + count_, count_));
        if (!sorted_) {
            groups.order_by_first();
        }
        return write(args, groups);
    }

  private:
    using Entry = RankedIndex<UniqueRank<T>>;

    // Elements that are equal, in ascending order.
    struct Groups {
        Groups(int64_t* memory, int64_t elements)
            : number_of(memory),
              first(memory + elements),
              members(memory + 2 * elements),
              place(memory + 3 * elements),
              count(elements) {}

        void find(const Entry* sorted) {
            for (int64_t i = 0; i < count; ++i) {
                if (i == 0 || sorted[i - 1].rank != sorted[i].rank) {
                    first[groups] = sorted[i].index;
                    members[groups] = 0;
                    place[groups] = groups;
                    ++groups;
                }
                number_of[sorted[i].index] = groups - 1;
                ++members[groups - 1];
            }
        }
        void order_by_first() {
            int64_t next = 0;
            for (int64_t i = 0; i < count; ++i) {
                if (first[number_of[i]] == i) {
                    place[number_of[i]] = next++;
                }
            }
        }

        int64_t* number_of;  // by element: its group
        int64_t* first;      // by group: an element, how many there are, and where it goes
        int64_t* members;
        int64_t* place;
        int64_t count;
        int64_t groups = 0;
    };

    Status write(const cpu::KernelArgs& args, const Groups& groups) const {
        LEAT_ASSIGN_OR_RETURN(const Shape shape,
                              with_axis_or_all(node_, args.inputs[0].shape, groups.groups));
        if (args.outputs[kUniqueY].present()) {
            const T* const x = args.inputs[0].as<const T>();
            LEAT_ASSIGN_OR_RETURN(T* const y, give_shape<T>(args.outputs[kUniqueY], shape));
            for (int64_t g = 0; g < groups.groups; ++g) {
                y[groups.place[g]] = x[groups.first[g]];
            }
        }
        LEAT_RETURN_IF_ERROR(
            write_of_groups(find_arg(args.outputs, kUniqueIndices), groups, groups.first));
        if (const TensorArg* inverse = find_arg(args.outputs, kUniqueInverse)) {
            for (int64_t i = 0; i < count_; ++i) {
                inverse->as<int64_t>()[i] = groups.place[groups.number_of[i]];
            }
        }
        return write_of_groups(find_arg(args.outputs, kUniqueCounts), groups, groups.members);
    }

    static Status write_of_groups(const TensorArg* output,
                                  const Groups& groups,
                                  const int64_t* numbers) {
        if (output == nullptr) {
            return {};
        }
        LEAT_ASSIGN_OR_RETURN(int64_t* const to, give_shape<int64_t>(*output, {groups.groups}));
        for (int64_t g = 0; g < groups.groups; ++g) {
            to[groups.place[g]] = numbers[g];
        }
        return {};
    }

    const NodeData& node_;
    int64_t count_;
    bool sorted_;
};

// Slices of several elements, strings and complex numbers are left to the reference kernel.
Result<std::unique_ptr<cpu::CpuKernel>> make_unique_kernel(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    LEAT_ASSIGN_OR_RETURN(const AxisSplit loop, AxisSplit::of_axis_or_all(context.node, x.shape));
    std::unique_ptr<cpu::CpuKernel> kernel;
    if (loop.outer * loop.inner != 1 || loop.extent > std::numeric_limits<uint32_t>::max() ||
        x.dtype == DType::kString || x.dtype == DType::kComplex64 ||
        x.dtype == DType::kComplex128) {
        return kernel;
    }
    const DType dtype = x.dtype == DType::kBool ? DType::kUint8 : x.dtype;
    LEAT_RETURN_IF_ERROR(dispatch_number(dtype, [&](auto element) {
        using T = typename decltype(element)::type;
        kernel = std::make_unique<UniqueKernel<T>>(context.node, loop.extent);
        return Status();
    }));
    return kernel;
}

}  // namespace

std::span<const cpu::CpuKernelEntry> unique_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{{{"Unique", make_unique_kernel}}};
    return kEntries;
}

}  // namespace leat

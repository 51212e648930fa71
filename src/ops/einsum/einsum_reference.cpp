#include <algorithm>
#include <utility>

#include "ops/einsum/einsum.h"
#include "ops/elementwise/element_access.h"

namespace leat {
namespace {

constexpr int64_t kMostEinsumElements = int64_t{1} << 56;

// A row-major tensor with labels, each once and none of extent 1. It may have more than kMaxRank.
template <class Sum>
struct EinsumPart {
    std::vector<EinsumLabel> labels;
    std::vector<Sum> elements;

    EinsumLabelSet set() const {
        EinsumLabelSet result;
        for (const EinsumLabel label : labels) {
            result.set(label);
        }
        return result;
    }
};

// Offsets of the elements under any strides, the last label innermost.
class EinsumWalk {
  public:
    EinsumWalk(const std::vector<EinsumLabel>& labels,
               const EinsumExtents& extents,
               const EinsumExtents& strides)
        : index_(labels.size(), 0) {
        for (const EinsumLabel label : labels) {
            extents_.push_back(extents[label]);
            strides_.push_back(strides[label]);
        }
    }

    int64_t offset() const { return offset_; }
    void advance() {
        for (size_t i = index_.size(); i-- > 0;) {
            offset_ += strides_[i];
            if (++index_[i] < extents_[i]) {
                return;
            }
            offset_ -= strides_[i] * extents_[i];
            index_[i] = 0;
        }
    }

  private:
    std::vector<int64_t> extents_;
    std::vector<int64_t> strides_;
    std::vector<int64_t> index_;
    int64_t offset_ = 0;
};

Result<int64_t> einsum_size(const std::vector<EinsumLabel>& labels, const EinsumExtents& extents) {
    int64_t size = 1;
    bool overflows = false;
    for (const EinsumLabel label : labels) {
        overflows = __builtin_mul_overflow(size, extents[label], &size) || overflows;
    }
    if (overflows || size > kMostEinsumElements) {
        return unsupported("a product of two operands of Einsum is too large")
            .with_found(overflows ? "more than 2^63 elements" : fmt::format("{} elements", size))
            .with_needed(fmt::format("{} elements at most", kMostEinsumElements));
    }
    return size;
}

// By label; what the labels lack is 0.
EinsumExtents einsum_strides(const std::vector<EinsumLabel>& labels, const EinsumExtents& extents) {
    EinsumExtents strides{};
    int64_t stride = 1;
    for (size_t i = labels.size(); i-- > 0;) {
        strides[labels[i]] = stride;
        stride *= std::max<int64_t>(extents[labels[i]], 1);
    }
    return strides;
}

template <class Sum>
Sum load_einsum_term(const TensorArg& x, int64_t i) {
    if constexpr (std::is_same_v<Sum, double>) {
        return load_real(x.dtype, x.data, i);
    } else {
        return Sum(load_integer(x.dtype, x.data, i));
    }
}

// Diagonals are taken, and what nobody else has is summed.
template <class Sum>
Result<EinsumPart<Sum>> load_einsum_part(const TensorArg& x,
                                         const std::vector<EinsumLabel>& labels,
                                         const EinsumExtents& extents,
                                         const EinsumLabelSet& others) {
    EinsumExtents strides{};
    EinsumPart<Sum> part;
    std::vector<EinsumLabel> summed;
    EinsumLabelSet seen;
    for (size_t axis = 0; axis < labels.size(); ++axis) {
        const EinsumLabel label = labels[axis];
        if (x.shape[int(axis)] == 1) {
            continue;
        }
        strides[label] += x.strides[axis];
        if (!seen[label]) {
            (others[label] ? part.labels : summed).push_back(label);
            seen.set(label);
        }
    }
    LEAT_ASSIGN_OR_RETURN(const int64_t size, einsum_size(part.labels, extents));
    LEAT_ASSIGN_OR_RETURN(const int64_t terms, einsum_size(summed, extents));
    part.elements.resize(size_t(size));
    std::vector<EinsumLabel> order = part.labels;
    order.insert(order.end(), summed.begin(), summed.end());
    EinsumWalk walk(order, extents, strides);
    for (Sum& element : part.elements) {
        for (int64_t i = 0; i < terms; ++i, walk.advance()) {
            element += load_einsum_term<Sum>(x, walk.offset());
        }
    }
    return part;
}

template <class Sum>
std::vector<Sum> einsum_in_order(EinsumPart<Sum> part,
                                 const std::vector<EinsumLabel>& order,
                                 const EinsumExtents& extents) {
    if (part.labels == order) {
        return std::move(part.elements);
    }
    std::vector<Sum> result(part.elements.size());
    EinsumWalk walk(order, extents, einsum_strides(part.labels, extents));
    for (Sum& element : result) {
        element = part.elements[size_t(walk.offset())];
        walk.advance();
    }
    return result;
}

// c[batch, m, n] = sum of a[batch, m, k] b[batch, n, k] over k, which `kept` lacks.
template <class Sum>
Result<EinsumPart<Sum>> einsum_contraction(EinsumPart<Sum> a,
                                           EinsumPart<Sum> b,
                                           const EinsumLabelSet& kept,
                                           const EinsumExtents& extents,
                                           const RunStop& stop) {
    const EinsumLabelSet in_a = a.set();
    const EinsumLabelSet in_b = b.set();
    std::vector<EinsumLabel> batch;
    std::vector<EinsumLabel> m;
    std::vector<EinsumLabel> n;
    std::vector<EinsumLabel> k;
    for (const EinsumLabel label : a.labels) {
        (!in_b[label] ? m : kept[label] ? batch : k).push_back(label);
    }
    std::copy_if(b.labels.begin(), b.labels.end(), std::back_inserter(n),
                 [&](EinsumLabel label) { return !in_a[label]; });
    const auto joined = [](std::vector<EinsumLabel> first, const std::vector<EinsumLabel>& second,
                           const std::vector<EinsumLabel>& third) {
        first.insert(first.end(), second.begin(), second.end());
        first.insert(first.end(), third.begin(), third.end());
        return first;
    };
    EinsumPart<Sum> c;
    c.labels = joined(batch, m, n);
    LEAT_ASSIGN_OR_RETURN(const int64_t size, einsum_size(c.labels, extents));
    c.elements.resize(size_t(size));
    if (size == 0) {
        return c;
    }
    LEAT_ASSIGN_OR_RETURN(const int64_t columns, einsum_size(n, extents));
    LEAT_ASSIGN_OR_RETURN(const int64_t rows, einsum_size(m, extents));
    LEAT_ASSIGN_OR_RETURN(const int64_t terms, einsum_size(k, extents));
    const std::vector<Sum> from_a = einsum_in_order(std::move(a), joined(batch, m, k), extents);
    const std::vector<Sum> from_b = einsum_in_order(std::move(b), joined(batch, n, k), extents);
    for (int64_t i = 0; i < size / columns; ++i) {
        if (stop.is_asked_for()) {
            return Status::bare(StatusCode::kCancelled);
        }
        const Sum* const row = from_a.data() + i * terms;
        const Sum* column = from_b.data() + i / rows * columns * terms;
        for (int64_t j = 0; j < columns; ++j, column += terms) {
            Sum sum = 0;
            for (int64_t t = 0; t < terms; ++t) {
                sum += row[t] * column[t];
            }
            c.elements[size_t(i * columns + j)] = sum;
        }
    }
    return c;
}

template <class Sum>
Status run_einsum(const ReferenceArgs& args, const EinsumEquation& equation) {
    LEAT_ASSIGN_OR_RETURN(const EinsumExtents extents, einsum_extents(equation, args.inputs));
    const EinsumOrder order = einsum_order(equation, extents, args.inputs);
    EinsumLabelSet output;
    for (const EinsumLabel label : equation.output) {
        output.set(label);
    }
    std::vector<EinsumLabelSet> sets;
    for (size_t i = 0; i < args.inputs.size(); ++i) {
        sets.push_back(einsum_labels(equation.operands[i], args.inputs[i].shape));
    }
    // What stands outside of some parts: they are marked by empty sets.
    const auto others = [&](size_t i, size_t j) {
        EinsumLabelSet all = output;
        for (size_t k = 0; k < sets.size(); ++k) {
            all |= k == i || k == j ? EinsumLabelSet() : sets[k];
        }
        return all;
    };
    std::vector<EinsumPart<Sum>> parts(args.inputs.size());
    for (size_t i = 0; i < parts.size(); ++i) {
        LEAT_ASSIGN_OR_RETURN(parts[i], load_einsum_part<Sum>(args.inputs[i], equation.operands[i],
                                                              extents, others(i, i)));
    }
    for (const auto& [i, j] : order.steps) {
        LEAT_ASSIGN_OR_RETURN(EinsumPart<Sum> product,
                              einsum_contraction(std::move(parts[i]), std::move(parts[j]),
                                                 others(i, j), extents, args.stop));
        parts[i] = {};
        parts[j] = {};
        sets[i].reset();
        sets[j].reset();
        sets.push_back(product.set());
        parts.push_back(std::move(product));
    }
    std::vector<EinsumLabel> wanted;
    std::copy_if(equation.output.begin(), equation.output.end(), std::back_inserter(wanted),
                 [&](EinsumLabel label) { return extents[label] != 1; });
    const std::vector<Sum> result = einsum_in_order(std::move(parts.back()), wanted, extents);
    const TensorArg& y = args.outputs[0];
    for (size_t i = 0; i < result.size(); ++i) {
        if constexpr (std::is_same_v<Sum, double>) {
            store_real(y.dtype, y.data, int64_t(i), result[i]);
        } else {
            store_integer(y.dtype, y.data, int64_t(i), int64_t(result[i]));
        }
    }
    return {};
}

}  // namespace

Status einsum_reference(const ReferenceArgs& args) {
    std::vector<int> ranks;
    for (const TensorArg& input : args.inputs) {
        ranks.push_back(input.shape.rank());
    }
    LEAT_ASSIGN_OR_RETURN(const EinsumEquation equation,
                          read_einsum(args.node.attr("equation", ""), ranks));
    if (args.outputs[0].shape.element_count() == 0) {
        return {};
    }
    return contains(kFloatTypes, args.inputs[0].dtype) ? run_einsum<double>(args, equation)
                                                       : run_einsum<uint64_t>(args, equation);
}

}  // namespace leat

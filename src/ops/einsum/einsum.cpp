#include "ops/einsum/einsum.h"

#include <algorithm>
#include <string>

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"

namespace leat {
namespace {

constexpr DTypeSet kEinsumTypes = kFloatTypes | kIntTypes;

bool is_einsum_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// One side of a comma or an arrow.
struct EinsumTerm {
    std::string before;  // letters in front of the ellipsis, or all
    std::string behind;
    bool has_ellipsis = false;

    int letters() const { return int(before.size() + behind.size()); }
};

Status bad_einsum(std::string_view equation, const char* needed) {
    return invalid_argument("the equation cannot be read")
        .with_found(fmt::format("'{}'", equation))
        .with_needed(needed);
}

// Without spaces.
Result<EinsumTerm> read_einsum_term(std::string_view text, std::string_view equation) {
    EinsumTerm term;
    for (size_t i = 0; i < text.size(); ++i) {
        if (is_einsum_letter(text[i])) {
            (term.has_ellipsis ? term.behind : term.before) += text[i];
        } else if (text.substr(i, 3) == "..." && !term.has_ellipsis) {
            term.has_ellipsis = true;
            i += 2;
        } else {
            return bad_einsum(equation, "letters, one ellipsis a term, commas and an arrow");
        }
    }
    return term;
}

struct EinsumText {
    std::vector<EinsumTerm> operands;
    EinsumTerm output;
};

Result<EinsumTerm> read_einsum_output(std::string_view text,
                                      const std::vector<int>& uses,
                                      std::string_view equation) {
    LEAT_ASSIGN_OR_RETURN(EinsumTerm output, read_einsum_term(text, equation));
    const std::string letters = output.before + output.behind;
    for (size_t i = 0; i < letters.size(); ++i) {
        if (uses[size_t(letters[i])] == 0 || letters.find(letters[i], i + 1) != std::string::npos) {
            return bad_einsum(equation, "an output with letters of the operands, each once");
        }
    }
    return output;
}

Result<EinsumText> read_einsum_text(std::string_view equation) {
    std::string text;
    std::copy_if(equation.begin(), equation.end(), std::back_inserter(text),
                 [](char c) { return c != ' '; });
    const size_t arrow = text.find("->");
    const std::string_view left = std::string_view(text).substr(0, arrow);
    EinsumText result;
    std::vector<int> uses(kEinsumLabels, 0);
    bool has_ellipsis = false;
    for (size_t begin = 0; begin <= left.size();) {
        const size_t end = std::min(left.find(',', begin), left.size());
        LEAT_ASSIGN_OR_RETURN(EinsumTerm term,
                              read_einsum_term(left.substr(begin, end - begin), equation));
        for (const char letter : term.before + term.behind) {
            ++uses[size_t(letter)];
        }
        has_ellipsis = has_ellipsis || term.has_ellipsis;
        result.operands.push_back(std::move(term));
        begin = end + 1;
    }
    if (arrow != std::string::npos) {
        LEAT_ASSIGN_OR_RETURN(
            result.output,
            read_einsum_output(std::string_view(text).substr(arrow + 2), uses, equation));
        return result;
    }
    result.output.has_ellipsis = has_ellipsis;
    for (size_t letter = 0; letter < uses.size(); ++letter) {
        if (uses[letter] == 1) {
            result.output.behind += char(letter);
        }
    }
    return result;
}

std::vector<EinsumLabel> einsum_term_labels(const EinsumTerm& term, int ellipsis_axes) {
    std::vector<EinsumLabel> labels(term.before.begin(), term.before.end());
    for (int axis = ellipsis_axes; axis-- > 0;) {
        labels.push_back(EinsumLabel(axis));
    }
    labels.insert(labels.end(), term.behind.begin(), term.behind.end());
    return labels;
}

double einsum_volume(const EinsumLabelSet& labels, const EinsumExtents& extents) {
    double size = 1;
    for (size_t label = 0; label < kEinsumLabels; ++label) {
        size *= labels[label] ? double(extents[label]) : 1;
    }
    return size;
}

// The cheapest tree of contractions, by sets of operands.
class EinsumSearch {
  public:
    static constexpr size_t kMostOperands = 8;

    EinsumSearch(const std::vector<EinsumLabelSet>& operands,
                 const EinsumLabelSet& output,
                 const EinsumExtents& extents)
        : operands_(operands), output_(output), sets_(size_t{1} << operands.size()) {
        for (size_t set = 1; set < sets_.size(); ++set) {
            sets_[set].labels = kept_labels(set);
            find_best(set, extents);
        }
    }

    EinsumOrder order() const {
        EinsumOrder order;
        order.multiplications = sets_.back().cost;
        append(sets_.size() - 1, order);
        return order;
    }

  private:
    struct Set {
        EinsumLabelSet labels;  // of its product
        double cost = 0;
        size_t part = 0;  // contracted with the rest; 0: a single operand
    };

    EinsumLabelSet kept_labels(size_t set) const {
        EinsumLabelSet inside;
        EinsumLabelSet outside = output_;
        for (size_t i = 0; i < operands_.size(); ++i) {
            ((set >> i & 1U) != 0 ? inside : outside) |= operands_[i];
        }
        return inside & outside;
    }

    void find_best(size_t set, const EinsumExtents& extents) {
        Set& best = sets_[set];
        for (size_t part = (set - 1) & set; part > 0; part = (part - 1) & set) {
            const size_t rest = set ^ part;
            if (part < rest) {
                continue;
            }
            const double cost = sets_[part].cost + sets_[rest].cost +
                                einsum_volume(sets_[part].labels | sets_[rest].labels, extents);
            if (best.part == 0 || cost < best.cost) {
                best.cost = cost;
                best.part = part;
            }
        }
    }

    // The number of the set's product.
    size_t append(size_t set, EinsumOrder& order) const {
        if (sets_[set].part == 0) {
            size_t operand = 0;
            while ((set >> operand & 1U) == 0) {
                ++operand;
            }
            return operand;
        }
        const size_t first = append(set ^ sets_[set].part, order);
        const size_t second = append(sets_[set].part, order);
        order.steps.push_back({first, second});
        return operands_.size() + order.steps.size() - 1;
    }

    const std::vector<EinsumLabelSet>& operands_;
    EinsumLabelSet output_;
    std::vector<Set> sets_;
};

// One contraction after the other, each the one whose result adds least to what is kept.
class EinsumGreed {
  public:
    EinsumGreed(const std::vector<EinsumLabelSet>& operands,
                const EinsumLabelSet& output,
                const EinsumExtents& extents)
        : output_(output), extents_(extents) {
        for (size_t i = 0; i < operands.size(); ++i) {
            parts_.push_back({operands[i], i});
        }
    }

    EinsumOrder order() {
        EinsumOrder order;
        size_t next = parts_.size();
        while (parts_.size() > 1) {
            const auto [i, j] = best_pair();
            order.steps.push_back({parts_[i].number, parts_[j].number});
            order.multiplications += einsum_volume(parts_[i].labels | parts_[j].labels, extents_);
            parts_[i] = {product(i, j), next++};
            parts_.erase(parts_.begin() + std::ptrdiff_t(j));
        }
        return order;
    }

  private:
    struct Part {
        EinsumLabelSet labels;
        size_t number = 0;
    };

    EinsumLabelSet product(size_t i, size_t j) const {
        EinsumLabelSet outside = output_;
        for (size_t k = 0; k < parts_.size(); ++k) {
            outside |= k == i || k == j ? EinsumLabelSet() : parts_[k].labels;
        }
        return (parts_[i].labels | parts_[j].labels) & outside;
    }

    std::pair<size_t, size_t> best_pair() const {
        std::pair<size_t, size_t> best = {0, 1};
        double least = 0;
        for (size_t i = 0; i < parts_.size(); ++i) {
            for (size_t j = i + 1; j < parts_.size(); ++j) {
                const double growth = einsum_volume(product(i, j), extents_) -
                                      einsum_volume(parts_[i].labels, extents_) -
                                      einsum_volume(parts_[j].labels, extents_);
                if ((i == 0 && j == 1) || growth < least) {
                    least = growth;
                    best = {i, j};
                }
            }
        }
        return best;
    }

    EinsumLabelSet output_;
    const EinsumExtents& extents_;
    std::vector<Part> parts_;
};

Result<EinsumEquation> einsum_equation(const InferContext& context) {
    std::vector<int> ranks;
    ranks.reserve(size_t(context.input_count()));
    for (int i = 0; i < context.input_count(); ++i) {
        ranks.push_back(context.input(i).rank());
    }
    return read_einsum(context.node().attr("equation", ""), ranks);
}

Status infer_einsum(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_all_inputs(context));
    for (int i = 0; i < context.input_count(); ++i) {
        LEAT_RETURN_IF_ERROR(require_dtype(context, i, kEinsumTypes, "Inputs"));
        LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, i));
    }
    LEAT_ASSIGN_OR_RETURN(const EinsumEquation equation, einsum_equation(context));
    Dims extents(kEinsumLabels, DimSpec(1));
    for (int i = 0; i < context.input_count(); ++i) {
        const std::vector<EinsumLabel>& labels = equation.operands[size_t(i)];
        for (size_t axis = 0; axis < labels.size(); ++axis) {
            const TypeInfo& type = context.input(i);
            DimSpec& extent = extents[labels[axis]];
            const DimSpec own = type.dims ? (*type.dims)[axis] : DimSpec::unknown();
            LEAT_ASSIGN_OR_RETURN(const std::optional<Dims> merged,
                                  broadcast_dims(TypeInfo::tensor(type.dtype, Dims{extent}),
                                                 TypeInfo::tensor(type.dtype, Dims{own})));
            extent = merged ? merged->front() : DimSpec::unknown();
        }
    }
    std::optional<Dims> dims;
    if (equation.is_rank_known) {
        LEAT_RETURN_IF_ERROR(check_output_rank(int64_t(equation.output.size())));
        dims.emplace();
        for (const EinsumLabel label : equation.output) {
            dims->push_back(extents[label]);
        }
    }
    context.set_output(0, context.input(0).dtype, std::move(dims));
    return {};
}

Cost einsum_cost(const NodeData& node,
                 std::span<const TensorArg> inputs,
                 std::span<const TensorArg> outputs) {
    const int64_t bytes = moved_bytes(inputs, outputs);
    std::vector<int> ranks;
    for (const TensorArg& input : inputs) {
        ranks.push_back(input.shape.rank());
    }
    const Result<EinsumEquation> equation = read_einsum(node.attr("equation", ""), ranks);
    if (!equation.ok()) {
        return {0, bytes};
    }
    const Result<EinsumExtents> extents = einsum_extents(*equation, inputs);
    if (!extents.ok()) {
        return {0, bytes};
    }
    return {2 * einsum_order(*equation, *extents, inputs).multiplications, bytes};
}

// The first label of the output may be that of a batch. Of three operands and more its extent
// may decide their order, and so bits.
bool einsum_gives_rows(const ShardArgs& args) {
    std::vector<int> ranks;
    for (const TensorArg& input : args.inputs) {
        ranks.push_back(input.shape.rank());
    }
    const Result<EinsumEquation> equation = read_einsum(args.node.attr("equation", ""), ranks);
    if (!equation.ok() || equation->output.empty() || args.inputs.size() > 2) {
        return false;
    }
    const EinsumLabel rows = equation->output[0];
    for (size_t i = 0; i < args.inputs.size(); ++i) {
        const std::vector<EinsumLabel>& labels = equation->operands[i];
        const Shape& shape = args.inputs[i].shape;
        const bool is_divided = args.parts[i] == ShardPart::kRows;
        for (size_t axis = 0; axis < labels.size(); ++axis) {
            const bool is_row = is_divided && axis == 0;
            const bool fits =
                is_row
                    ? labels[axis] == rows && shape[0] == args.outputs[0].shape[0] && shape[0] > 1
                    : labels[axis] != rows || (!is_divided && shape[int(axis)] == 1);
            if (!fits) {
                return false;
            }
        }
        if (args.parts[i] == ShardPart::kOwn) {
            return false;
        }
    }
    return true;
}

constexpr AttributeSchema kEinsumAttributes[] = {
    {.name = "equation", .kind = AttributeKind::kString, .is_required = true},
};

constexpr OpDef kEinsumOps[] = {
    {.name = "Einsum",
     .max_inputs = -1,
     .attributes = kEinsumAttributes,
     .infer = infer_einsum,
     .reference = einsum_reference,
     .cost = einsum_cost,
     .gives_rows = einsum_gives_rows},
};

}  // namespace

Result<EinsumEquation> read_einsum(std::string_view equation, std::span<const int> ranks) {
    LEAT_ASSIGN_OR_RETURN(const EinsumText text, read_einsum_text(equation));
    if (text.operands.size() != ranks.size()) {
        return invalid_argument("the equation '{}' is of another number of operands", equation)
            .with_found(fmt::format("{} operands", ranks.size()))
            .with_needed(fmt::format("{}, one for each term", text.operands.size()));
    }
    EinsumEquation result;
    int ellipsis_axes = 0;
    for (size_t i = 0; i < ranks.size(); ++i) {
        const EinsumTerm& term = text.operands[i];
        const int axes = ranks[i] < 0 ? 0 : ranks[i] - term.letters();
        if (axes < 0 || (axes > 0 && !term.has_ellipsis)) {
            return invalid_argument("operand {} does not fit its term of '{}'", i, equation)
                .with_found(fmt::format("rank {}", ranks[i]))
                .with_needed(
                    fmt::format("rank {}{}", term.letters(), term.has_ellipsis ? " or more" : ""));
        }
        if (ranks[i] < 0 && term.has_ellipsis) {
            result.is_rank_known = result.is_rank_known && !text.output.has_ellipsis;
            result.operands.emplace_back();
            continue;
        }
        ellipsis_axes = std::max(ellipsis_axes, axes);
        result.operands.push_back(einsum_term_labels(term, axes));
    }
    result.output = einsum_term_labels(text.output, text.output.has_ellipsis ? ellipsis_axes : 0);
    return result;
}

Result<EinsumExtents> einsum_extents(const EinsumEquation& equation,
                                     std::span<const TensorArg> operands) {
    EinsumExtents extents{};
    extents.fill(1);
    for (size_t i = 0; i < operands.size(); ++i) {
        for (size_t axis = 0; axis < equation.operands[i].size(); ++axis) {
            int64_t& extent = extents[equation.operands[i][axis]];
            const int64_t own = operands[i].shape[int(axis)];
            if (own != 1 && extent != 1 && own != extent) {
                return invalid_argument("axis {} of operand {} does not fit its label", axis, i)
                    .with_found(fmt::format("extent {}", own))
                    .with_needed(fmt::format("extent {}, or 1", extent));
            }
            extent = own == 1 ? extent : own;
        }
    }
    return extents;
}

EinsumLabelSet einsum_labels(const std::vector<EinsumLabel>& labels, const Shape& shape) {
    EinsumLabelSet set;
    for (size_t axis = 0; axis < labels.size(); ++axis) {
        if (shape[int(axis)] != 1) {
            set.set(labels[axis]);
        }
    }
    return set;
}

EinsumOrder einsum_order(const std::vector<EinsumLabelSet>& operands,
                         const EinsumLabelSet& output,
                         const EinsumExtents& extents) {
    if (operands.size() > EinsumSearch::kMostOperands) {
        return EinsumGreed(operands, output, extents).order();
    }
    return EinsumSearch(operands, output, extents).order();
}

EinsumOrder einsum_order(const EinsumEquation& equation,
                         const EinsumExtents& extents,
                         std::span<const TensorArg> operands) {
    std::vector<EinsumLabelSet> labels;
    for (size_t i = 0; i < operands.size(); ++i) {
        labels.push_back(einsum_labels(equation.operands[i], operands[i].shape));
    }
    EinsumLabelSet output;
    for (const EinsumLabel label : equation.output) {
        output.set(label);
    }
    return einsum_order(labels, output, extents);
}

std::span<const OpDef> einsum_ops() {
    return kEinsumOps;
}

}  // namespace leat

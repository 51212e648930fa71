#include "graph/batch_split.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "base/check.h"
#include "graph/dim_symbol.h"
#include "graph/inference.h"

namespace leat {
namespace {

struct Shard {
    int64_t begin = 0;  // in the batch
    int64_t rows = 0;   // of the batch
    const std::vector<ValueFact>* facts = nullptr;
};

Shape with_rows(Shape shape, int64_t rows) {
    shape[0] = rows;
    return shape;
}

bool has_rows(const ValueFact& fact, int64_t rows) {
    const std::optional<Shape> shape = fact.type.fixed_shape();
    return fact.type.is_tensor() && shape && shape->rank() > 0 && (*shape)[0] == rows;
}

bool same_elements(const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && a.shape() == b.shape() && a.dtype() != DType::kString &&
           (a.byte_count() == 0 || std::memcmp(a.bytes(), b.bytes(), size_t(a.byte_count())) == 0);
}

// True if `part` is rows [begin, begin + its own) of `whole`, as their shapes allow.
bool is_rows_of(const Tensor& part, const Tensor& whole, int64_t begin) {
    if (part.dtype() != whole.dtype() || part.dtype() == DType::kString ||
        bits_of(part.dtype()) < 8) {
        return false;
    }
    const int64_t row_bytes = whole.byte_count() / whole.shape()[0];
    return part.byte_count() == 0 || std::memcmp(part.bytes(), whole.bytes() + begin * row_bytes,
                                                 size_t(part.byte_count())) == 0;
}

class Splitter {
  public:
    Splitter(const GraphData& graph, std::span<const ValueFact> facts, int64_t batch)
        : graph_(graph), facts_(facts), batch_(batch), parts_(graph.values.size()) {}

    Status divide_inputs();
    Status infer_shards(std::span<const int64_t> shard_rows);
    // Finds what shards have of every value that the outputs need.
    Status visit_nodes();
    Status check_outputs() const;
    BatchSplit take() { return {batch_, std::move(is_divided_)}; }

  private:
    ShardPart& part(ValueId id) { return parts_[size_t(id.index)]; }
    ShardPart part(ValueId id) const { return parts_[size_t(id.index)]; }
    const ValueFact& fact(ValueId id) const { return facts_[size_t(id.index)]; }

    Status check_names() const;
    Result<std::vector<ValueFact>> infer_shard(int64_t rows) const;
    std::optional<ShardPart> compare(ValueId id) const;
    bool has_shard_shape(const Shape& own, const Shape& whole, const Shard& shard) const;
    void find_known_values();
    Status visit(const NodeData& node);
    Status check_result(const NodeData& node, ValueId id) const;
    bool gives_rows(const NodeData& node) const;
    TensorArg arg(ValueId id) const;

    const GraphData& graph_;
    std::span<const ValueFact> facts_;
    int64_t batch_;
    std::vector<bool> is_known_;    // by value, in every shard and in the whole run
    std::vector<bool> is_divided_;  // by graph input
    std::vector<ShardPart> parts_;  // by value
    std::map<int64_t, std::vector<ValueFact>> by_rows_;  // facts of a shard of so many rows
    std::vector<Shard> shards_;
};

Status Splitter::divide_inputs() {
    const auto divide = [this](bool is_open) {
        bool is_any = false;
        for (size_t i = 0; i < graph_.inputs.size(); ++i) {
            const ValueId id = graph_.inputs[i];
            const std::optional<std::vector<DimSpec>>& dims = graph_.value(id).type.dims;
            const bool is_fixed = dims && !dims->empty() && dims->front().is_fixed();
            is_divided_[i] = is_fixed != is_open && !fact(id).value && has_rows(fact(id), batch_);
            is_any = is_any || is_divided_[i];
        }
        return is_any;
    };
    is_divided_.assign(graph_.inputs.size(), false);
    if (!divide(true) && !divide(false)) {
        return unsupported("no input has the batch of {} rows", batch_);
    }
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
        part(graph_.inputs[i]) = is_divided_[i] ? ShardPart::kRows : ShardPart::kWhole;
    }
    return check_names();
}

// Every run checks that extents of one name are equal, and a shard's would not be.
Status Splitter::check_names() const {
    std::set<std::string_view> divided;
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
        const TypeInfo& declared = graph_.value(graph_.inputs[i]).type;
        if (is_divided_[i] && declared.dims && !dim_key(declared.dims->front()).empty()) {
            divided.insert(dim_key(declared.dims->front()));
        }
    }
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
        const ValueData& input = graph_.value(graph_.inputs[i]);
        const size_t first = is_divided_[i] ? 1 : 0;
        for (size_t axis = first; input.type.dims && axis < input.type.dims->size(); ++axis) {
            if (divided.contains(dim_key((*input.type.dims)[axis]))) {
                return unsupported("axis {} of input '{}' is the batch, too", axis, input.name);
            }
        }
    }
    return {};
}

Result<std::vector<ValueFact>> Splitter::infer_shard(int64_t rows) const {
    std::vector<ValueFact> given;
    given.reserve(graph_.inputs.size());
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
        given.push_back(fact(graph_.inputs[i]));
        if (is_divided_[i]) {
            given.back().type.dims->front() = DimSpec(rows);
        }
    }
    InferenceOptions options;
    options.checks_extents = false;
    Result<std::vector<ValueFact>> facts = infer_graph(graph_, given, options);
    if (!facts.ok()) {
        return unsupported("{} of {} rows cannot run alone: {}", rows, batch_,
                           facts.error().message());
    }
    return facts;
}

Status Splitter::infer_shards(std::span<const int64_t> shard_rows) {
    int64_t begin = 0;
    shards_.reserve(shard_rows.size());
    for (const int64_t rows : shard_rows) {
        auto known = by_rows_.find(rows);
        if (known == by_rows_.end()) {
            LEAT_ASSIGN_OR_RETURN(std::vector<ValueFact> facts, infer_shard(rows));
            known = by_rows_.emplace(rows, std::move(facts)).first;
        }
        shards_.push_back({begin, rows, &known->second});
        begin += rows;
    }
    return {};
}

// True if a tensor of the shard has the shape of its rows of a whole one.
bool Splitter::has_shard_shape(const Shape& own, const Shape& whole, const Shard& shard) const {
    return whole.rank() > 0 && whole[0] > 0 && whole[0] % batch_ == 0 &&
           own == with_rows(whole, whole[0] / batch_ * shard.rows);
}

// What the shards have of a value whose elements are known in all of them and in the whole run.
std::optional<ShardPart> Splitter::compare(ValueId id) const {
    const std::optional<Tensor>& whole = fact(id).value;
    bool is_whole = true;
    bool is_rows = true;
    for (const Shard& shard : shards_) {
        const std::optional<Tensor>& own = (*shard.facts)[size_t(id.index)].value;
        if (!whole || !own) {
            return std::nullopt;
        }
        is_whole = is_whole && same_elements(*own, *whole);
        is_rows = is_rows && has_shard_shape(own->shape(), whole->shape(), shard) &&
                  is_rows_of(*own, *whole, whole->shape()[0] / batch_ * shard.begin);
    }
    return is_whole ? ShardPart::kWhole : is_rows ? ShardPart::kRows : ShardPart::kOwn;
}

// What shards have of constants and of values that follow from extents alone.
void Splitter::find_known_values() {
    is_known_.assign(graph_.values.size(), false);
    for (int32_t i = 0; i < graph_.value_count(); ++i) {
        const std::optional<ShardPart> known =
            graph_.value({i}).constant ? ShardPart::kWhole : compare({i});
        if (known) {
            part({i}) = *known;
            is_known_[size_t(i)] = true;
        }
    }
}

// A result that is to be divided: a tensor that has the shard's rows in every shard.
Status Splitter::check_result(const NodeData& node, ValueId id) const {
    const TypeInfo& type = fact(id).type;
    if (!type.is_tensor() || type.dtype == DType::kString) {
        return unsupported("{} gives {}, which cannot be divided", node.label(), type.to_string());
    }
    const std::optional<Shape> whole = type.fixed_shape();
    const bool fits = whole && std::all_of(shards_.begin(), shards_.end(), [&](const Shard& shard) {
                          const std::optional<Shape> own =
                              (*shard.facts)[size_t(id.index)].type.fixed_shape();
                          return own && has_shard_shape(*own, *whole, shard);
                      });
    if (!fits) {
        return unsupported("{} gives {}, whose axis 0 does not divide as the batch of {} does",
                           node.label(), type.to_string(), batch_);
    }
    return {};
}

TensorArg Splitter::arg(ValueId id) const {
    if (!id.valid() || !fact(id).type.is_tensor()) {
        return {};
    }
    const ValueFact& known = fact(id);
    return row_major_arg(known.type.dtype, known.type.fixed_shape().value_or(Shape()),
                         known.value ? known.value->bytes() : nullptr);
}

// Precondition: the results have the shard's rows.
bool Splitter::gives_rows(const NodeData& node) const {
    if (node.def->gives_rows == nullptr) {
        return false;
    }
    std::vector<TensorArg> inputs;
    std::vector<ShardPart> parts;
    inputs.reserve(node.inputs.size());
    parts.reserve(node.inputs.size());
    for (const ValueId id : node.inputs) {
        inputs.push_back(arg(id));
        parts.push_back(id.valid() ? part(id) : ShardPart::kWhole);
    }
    std::vector<TensorArg> outputs;
    outputs.reserve(node.outputs.size());
    for (const ValueId id : node.outputs) {
        outputs.push_back(arg(id));
    }
    for (const EpilogueStep& step : node.epilogue) {
        const auto operand = size_t(step.operand_input);
        if (step.operand_input >= 0 &&
            !broadcasts_to_rows(inputs[operand], parts[operand], outputs[0].shape)) {
            return false;
        }
    }
    const size_t own = node.own_inputs();
    return node.def->gives_rows(
        {node, std::span(inputs).first(own), outputs, std::span(parts).first(own)});
}

Status Splitter::visit(const NodeData& node) {
    if (node.def->nondeterministic || node.has_bodies()) {
        return unsupported("{} may give other results for a part of the batch", node.label());
    }
    const bool is_whole = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
        return !id.valid() || part(id) == ShardPart::kWhole;
    });
    if (is_whole) {
        return {};
    }
    for (const ValueId id : node.inputs) {
        if (id.valid() && !fact(id).type.fixed_shape()) {
            return unsupported("{} reads {}, whose extents are not known", node.label(),
                               fact(id).type.to_string());
        }
    }
    for (const ValueId id : node.outputs) {
        if (id.valid()) {
            LEAT_RETURN_IF_ERROR(check_result(node, id));
            part(id) = ShardPart::kRows;
        }
    }
    if (!gives_rows(node)) {
        return unsupported("{} mixes the rows of the batch", node.label());
    }
    return {};
}

Status Splitter::visit_nodes() {
    find_known_values();
    // As a plan does: without nodes whose results are known, and those that only lead to them.
    const std::vector<bool> is_needed = needed_nodes(graph_, is_known_);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
        if (is_needed[i]) {
            LEAT_RETURN_IF_ERROR(visit(graph_.nodes[i]));
        }
    }
    return {};
}

Status Splitter::check_outputs() const {
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
        if (part(graph_.outputs[i]) != ShardPart::kRows) {
            return unsupported("output '{}' does not come from the rows of the batch",
                               graph_.output_names[i]);
        }
    }
    return {};
}

}  // namespace

Result<int64_t> find_batch_extent(const GraphData& graph, std::span<const ValueFact> facts) {
    int64_t batch = -1;
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
        const ValueFact& fact = facts[size_t(graph.outputs[i].index)];
        const std::optional<Shape> shape = fact.type.fixed_shape();
        const bool has_axis_0 = fact.type.is_tensor() && shape && shape->rank() > 0;
        if (!has_axis_0 || (i > 0 && (*shape)[0] != batch)) {
            return unsupported("output '{}' is {}, so the outputs have no batch in common",
                               graph.output_names[i], fact.type.to_string());
        }
        batch = (*shape)[0];
    }
    if (batch < 2) {
        return unsupported("the outputs have no two rows");
    }
    return batch;
}

Result<BatchSplit> find_batch_split(const GraphData& graph,
                                    std::span<const ValueFact> facts,
                                    std::span<const int64_t> shard_rows) {
    LEAT_ASSIGN_OR_RETURN(const int64_t batch, find_batch_extent(graph, facts));
    const int64_t rows = std::accumulate(shard_rows.begin(), shard_rows.end(), int64_t{0});
    LEAT_CHECK(rows == batch && std::ranges::min(shard_rows) > 0, "{} rows of {}", rows, batch);
    Splitter splitter(graph, facts, batch);
    LEAT_RETURN_IF_ERROR(splitter.divide_inputs());
    LEAT_RETURN_IF_ERROR(splitter.infer_shards(shard_rows));
    LEAT_RETURN_IF_ERROR(splitter.visit_nodes());
    LEAT_RETURN_IF_ERROR(splitter.check_outputs());
    return splitter.take();
}

}  // namespace leat

#include "calibrate/isolated_node.h"

#include <algorithm>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/round_up.h"
#include "base/split_mix.h"
#include "custom/custom_op_def.h"
#include "ops/element.h"

namespace leat {
namespace {

// Integers that are no indices: small, and never 0, because some operators divide.
constexpr int64_t kFirstInteger = 1;
constexpr int64_t kEndInteger = 8;

constexpr uint64_t kSeed = 1;

// Of a tensor in shared memory, aligned as tensors of their own are.
int64_t room_bytes(DType dtype, const Shape& shape) {
    constexpr int64_t kAlignmentBytes = 64;
    return round_up(storage_bytes(dtype, shape.element_count()).value_or(0), kAlignmentBytes);
}

// Random integers lie in [begin, end).
struct IntegerRange {
    int64_t begin = kFirstInteger;
    int64_t end = kEndInteger;
};

// Indices are within what they select from.
IntegerRange integers_of(const NodeData& node, const NodeOperands& operands, size_t input) {
    const std::string& op = node.op_type;
    const bool has_axis = op == "Gather" || op == "GatherElements" || op == "ScatterElements";
    const bool has_tuples = op == "GatherND" || op == "ScatterND";
    if (input != 1 || (!has_axis && !has_tuples)) {
        return {};
    }
    const Shape& table = operands.inputs[0].shape;
    if (table.rank() == 0) {
        return {0, 1};
    }
    if (has_axis) {
        const int64_t axis = node.attr("axis", int64_t{0});
        return {0, std::max<int64_t>(1, table[int(axis < 0 ? axis + table.rank() : axis)])};
    }
    return {0, std::max<int64_t>(1, *std::min_element(table.begin(), table.end()))};
}

template <class T>
void fill_integers(Tensor& tensor, const IntegerRange& range, SplitMix& random) {
    const auto most = int64_t(std::numeric_limits<T>::max());
    const auto count = int32_t(std::min({range.end - range.begin, most, int64_t{1} << 30}));
    for (T& element : tensor.mutable_data<T>()) {
        element = T(range.begin + random.below(count));
    }
}

// In [1/16, 1): in the domain of every function, and no result is a denormal or infinite.
float random_float(SplitMix& random) {
    constexpr double kLeast = 1.0 / 16;
    return float(kLeast + random.unit() * (1 - kLeast));
}

// False where elements of the type cannot be made.
bool fill(Tensor& tensor, const IntegerRange& range, SplitMix& random) {
    if (tensor.dtype() == DType::kBool) {
        for (uint8_t& element : std::span(reinterpret_cast<uint8_t*>(tensor.mutable_bytes()),
                                          size_t(tensor.byte_count()))) {
            element = uint8_t(random.below(2));
        }
        return true;
    }
    const auto fill_numbers = [&](auto type) {
        using T = typename decltype(type)::type;
        if constexpr (std::is_integral_v<T>) {
            fill_integers<T>(tensor, range, random);
        } else {
            for (T& element : tensor.mutable_data<T>()) {
                element = narrow<T>(random_float(random));
            }
        }
        return Status();
    };
    return dispatch_number(tensor.dtype(), fill_numbers).ok();
}

bool can_fill(DType dtype) {
    Result<Tensor> one = Tensor::allocate(dtype, Shape{1});
    SplitMix random(1);
    return one.ok() && fill(*one, {}, random);
}

class Isolation {
  public:
    Isolation(const GraphData& source,
              const NodeData& node,
              const NodeOperands& operands,
              const TurnMemory& memory,
              uint64_t seed)
        : source_(source), node_(node), operands_(operands), memory_(memory), random_(seed) {
        isolated_.graph = std::make_unique<GraphData>();
    }

    Result<IsolatedNode> run() {
        GraphData& graph = *isolated_.graph;
        NodeData copy = node_;
        for (size_t i = 0; i < copy.inputs.size(); ++i) {
            if (copy.inputs[i].valid()) {
                LEAT_ASSIGN_OR_RETURN(copy.inputs[i], input(i));
            }
        }
        for (size_t i = 0; i < copy.outputs.size(); ++i) {
            if (!copy.outputs[i].valid()) {
                continue;
            }
            const TensorArg& arg = operands_.outputs[i];
            const ValueId id =
                graph.add_value(fmt::format("output{}", i), TypeInfo::tensor(arg.dtype, arg.shape));
            ValueData& value = graph.value(id);
            value.producer = NodeId{0};
            value.output_index = int32_t(i);
            value.layout = source_.value(node_.outputs[i]).layout;
            copy.outputs[i] = id;
            graph.outputs.push_back(id);
            graph.output_names.push_back(value.name);
            isolated_.outputs.push_back(memory_.output(arg.dtype, arg.shape, output_bytes_));
        }
        copy.name = "node";
        graph.nodes.push_back(std::move(copy));
        return std::move(isolated_);
    }

  private:
    Result<ValueId> input(size_t i) {
        const ValueId old = node_.inputs[i];
        if (const auto known = ids_.find(old.index); known != ids_.end()) {
            return known->second;
        }
        GraphData& graph = *isolated_.graph;
        const TensorArg& arg = operands_.inputs[i];
        const std::string name = fmt::format("input{}", i);
        ValueId id;
        if (operands_.known[i] != nullptr) {
            id = graph.add_constant(name, *operands_.known[i]);
        } else {
            id = graph.add_value(name, TypeInfo::tensor(arg.dtype, arg.shape));
            graph.inputs.push_back(id);
            LEAT_ASSIGN_OR_RETURN(Tensor elements, elements_of(arg, i));
            isolated_.inputs.push_back(std::move(elements));
        }
        graph.value(id).layout = source_.value(old).layout;
        ids_.emplace(old.index, id);
        return id;
    }

    Result<Tensor> elements_of(const TensorArg& arg, size_t input) {
        if (arg.dtype == DType::kFloat32) {
            return memory_.input(arg.shape, input_bytes_);
        }
        LEAT_ASSIGN_OR_RETURN(Tensor elements, Tensor::allocate(arg.dtype, arg.shape));
        (void)fill(elements, integers_of(node_, operands_, input), random_);
        return elements;
    }

    const GraphData& source_;
    const NodeData& node_;
    const NodeOperands& operands_;
    const TurnMemory& memory_;
    SplitMix random_;
    int64_t input_bytes_ = 0;  // used of the memory
    int64_t output_bytes_ = 0;
    std::map<int32_t, ValueId> ids_;  // by value of the source
    IsolatedNode isolated_;
};

}  // namespace

Result<TurnMemory> TurnMemory::make(std::span<const NodeOperands* const> operators) {
    int64_t input_bytes = 0;
    int64_t output_bytes = 0;
    for (const NodeOperands* operands : operators) {
        int64_t own_input_bytes = 0;
        for (size_t i = 0; i < operands->inputs.size(); ++i) {
            const TensorArg& arg = operands->inputs[i];
            const bool is_here = arg.dtype == DType::kFloat32 && operands->known[i] == nullptr;
            own_input_bytes += is_here ? room_bytes(arg.dtype, arg.shape) : 0;
        }
        int64_t own_output_bytes = 0;
        for (const TensorArg& arg : operands->outputs) {
            own_output_bytes += arg.present() ? room_bytes(arg.dtype, arg.shape) : 0;
        }
        input_bytes = std::max(input_bytes, own_input_bytes);
        output_bytes = std::max(output_bytes, own_output_bytes);
    }
    TurnMemory memory;
    LEAT_ASSIGN_OR_RETURN(
        memory.inputs_,
        Tensor::allocate(DType::kFloat32, Shape{input_bytes / int64_t(sizeof(float))}));
    LEAT_ASSIGN_OR_RETURN(memory.outputs_, Tensor::allocate(DType::kUint8, Shape{output_bytes}));
    SplitMix random(kSeed);
    (void)fill(memory.inputs_, {}, random);
    return memory;
}

Tensor TurnMemory::input(const Shape& shape, int64_t& used_bytes) const {
    const std::byte* begin = inputs_.bytes() + used_bytes;
    used_bytes += room_bytes(DType::kFloat32, shape);
    return Tensor::view(DType::kFloat32, shape, begin, inputs_.owner());
}

Tensor TurnMemory::output(DType dtype, const Shape& shape, int64_t& used_bytes) const {
    const std::byte* begin = outputs_.bytes() + used_bytes;
    used_bytes += room_bytes(dtype, shape);
    return Tensor::view(dtype, shape, begin, outputs_.owner());
}

std::string reason_not_to_isolate(const NodeData& node, const NodeOperands& operands) {
    if (node.has_bodies()) {
        return "control flow: its time depends on its bodies";
    }
    if (custom::find_custom(node.def) != nullptr) {
        return "a custom operator: its code may change under its name";
    }
    bool has_input = false;
    for (size_t i = 0; i < operands.inputs.size(); ++i) {
        const TensorArg& arg = operands.inputs[i];
        if (!arg.present() || operands.known[i] != nullptr) {
            continue;
        }
        has_input = true;
        if ((shape_inputs_of(node) >> std::min<size_t>(i, 31) & 1U) != 0) {
            return fmt::format("values of input {} decide shapes", i);
        }
        if (!can_fill(arg.dtype)) {
            return fmt::format("no elements of {} are made for input {}", name_of(arg.dtype), i);
        }
        if (arg.shape.element_count() == 0) {
            return fmt::format("input {} is empty", i);
        }
    }
    return has_input ? "" : "it has no input that a run could change";
}

Result<IsolatedNode> isolate_node(const GraphData& graph,
                                  const NodeData& node,
                                  const NodeOperands& operands,
                                  const TurnMemory& memory,
                                  uint64_t seed) {
    return Isolation(graph, node, operands, memory, seed).run();
}

}  // namespace leat

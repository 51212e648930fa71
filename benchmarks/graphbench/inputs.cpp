#include "inputs.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <system_error>
#include <type_traits>

#include "base/error.h"
#include "base/split_mix.h"
#include "conformance/values.h"
#include "graph/default_input.h"
#include "graph/graph_data.h"
#include "interruption.h"
#include "npy.h"
#include "ops/element.h"
#include "sweep.h"

namespace leat::bench {
namespace {

// The number of rows when integer input `id` selects rows of a table, directly or through operators
// that keep its elements; nullopt when it does not.
std::optional<int64_t> index_limit(const GraphData& graph,
                                   const GraphData::Uses& uses,
                                   ValueId id,
                                   int depth) {
    std::optional<int64_t> limit;
    for (NodeId reader : uses.readers[size_t(id.index)]) {
        const NodeData& node = graph.node(reader);
        std::optional<int64_t> found;
        bool is_index = (node.op_type == "Gather" || node.op_type == "GatherElements") &&
                        node.inputs.size() > 1 && node.inputs[1] == id;
        if (is_index) {
            const TypeInfo& table = graph.value(node.inputs[0]).type;
            int64_t axis = node.attr("axis", int64_t{0});
            axis += axis < 0 ? table.rank() : 0;
            if (axis >= 0 && axis < table.rank() && (*table.dims)[size_t(axis)].is_fixed()) {
                found = (*table.dims)[size_t(axis)].extent();
            }
        } else if (depth > 0 && !node.outputs.empty() &&
                   (node.op_type == "Cast" || node.op_type == "Reshape" ||
                    node.op_type == "Unsqueeze" || node.op_type == "Squeeze" ||
                    node.op_type == "Identity")) {
            found = index_limit(graph, uses, node.outputs[0], depth - 1);
        }
        if (found) {
            limit = std::min(limit.value_or(*found), *found);
        }
    }
    return limit;
}

struct Pattern {
    enum class Kind : uint8_t { kZeros, kOnes, kArange, kRandom };
    Kind kind = Kind::kRandom;
    uint64_t seed = 0;
    int64_t integer_end = 2;  // random integers lie in [0, integer_end)
};

template <class T>
void fill_elements(Tensor& tensor, const Pattern& pattern) {
    SplitMix random(pattern.seed);
    int64_t index = 0;
    for (T& element : tensor.mutable_data<T>()) {
        auto value = Accumulator<T>(pattern.kind == Pattern::Kind::kOnes ? 1 : 0);
        if (pattern.kind == Pattern::Kind::kArange) {
            value = Accumulator<T>(index % int64_t(std::numeric_limits<int8_t>::max()));
        } else if (pattern.kind == Pattern::Kind::kRandom) {
            const uint64_t bits = random.next();
            if constexpr (std::is_integral_v<T>) {
                value = bits % uint64_t(pattern.integer_end);
            } else {
                const double number = double(int64_t(bits)) * 0x1p-63;  // [-1, 1)
                value = kIsHalf<T> ? float(number) : number;
            }
        }
        element = narrow<T>(value);
        ++index;
    }
}

Result<Tensor> make_tensor(DType dtype, const Shape& shape, const Pattern& pattern) {
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(dtype, shape));
    if (dtype == DType::kString) {
        return tensor;
    }
    const DType number = dtype == DType::kBool ? DType::kUint8 : dtype;
    const Status filled = dispatch_number(number, [&](auto type) {
        fill_elements<typename decltype(type)::type>(tensor, pattern);
        return Status();
    });
    if (!filled.ok()) {
        return unsupported("no pattern of elements for {}; give a file with --input",
                           name_of(dtype));
    }
    return tensor;
}

// The shape that declaration and options give.
Result<Shape> resolve_shape(const ValueInfo& info, const CompileOptions& compile) {
    if (auto given = compile.shapes.find(info.name); given != compile.shapes.end()) {
        return given->second;
    }
    if (!info.has_shape) {
        return invalid_argument(
            "input '{}' has no declared shape; add --shape {}=1x3x224x224 or "
            "--inputs DIR",
            info.name, info.name);
    }
    std::vector<int64_t> extents;
    std::string missing;
    for (const DimSpec& dim : info.dims) {
        const auto given = compile.dims.find(dim.name());
        const auto bounds = compile.dim_bounds.find(dim.name());
        if (dim.is_fixed()) {
            extents.push_back(dim.extent());
        } else if (!dim.name().empty() && given != compile.dims.end()) {
            extents.push_back(given->second);
        } else if (!dim.name().empty() && bounds != compile.dim_bounds.end()) {
            extents.push_back(bounds->second.max);
        } else {
            missing += dim.name().empty() ? fmt::format(" --shape {}=...", info.name)
                                          : fmt::format(" --dim {}=1", dim.name());
        }
    }
    if (!missing.empty()) {
        return invalid_argument("the shape of input {} is not known; add{} (or --inputs DIR)",
                                describe_info(info), missing);
    }
    std::optional<Shape> shape = Shape::make(extents);
    if (!shape) {
        return invalid_argument("input {}: rank above {} or too many elements", describe_info(info),
                                kMaxRank);
    }
    return *shape;
}

// What is in a file against --shape and --dim. `file`: as the user may call it.
Status check_extents(const ValueInfo& info,
                     const Value& value,
                     std::string_view file,
                     const CompileOptions& compile) {
    if (!value.is_tensor()) {
        return {};
    }
    const Shape& shape = value.tensor().shape();
    const auto given = compile.shapes.find(info.name);
    if (given != compile.shapes.end() && given->second != shape) {
        return invalid_argument("--shape {}={}: {} has {}", info.name, given->second.to_string(),
                                file, shape.to_string());
    }
    for (size_t axis = 0; info.has_shape && axis < info.dims.size(); ++axis) {
        const auto extent = compile.dims.find(info.dims[axis].name());
        if (info.dims.size() == size_t(shape.rank()) && !info.dims[axis].is_fixed() &&
            extent != compile.dims.end() && extent->second != shape[int(axis)]) {
            return invalid_argument("--dim {}={}: input '{}' has {} in {}", extent->first,
                                    extent->second, info.name, shape.to_string(), file);
        }
    }
    return {};
}

bool parse_pattern(const std::string& text, Pattern& pattern) {
    if (text == "zeros") {
        pattern.kind = Pattern::Kind::kZeros;
    } else if (text == "ones") {
        pattern.kind = Pattern::Kind::kOnes;
    } else if (text == "arange") {
        pattern.kind = Pattern::Kind::kArange;
    } else if (text.compare(0, 7, "random:") == 0 && parse_integer(text.substr(7))) {
        pattern.kind = Pattern::Kind::kRandom;
        pattern.seed = uint64_t(*parse_integer(text.substr(7)));
    } else {
        return false;
    }
    return true;
}

class InputMaker {
  public:
    InputMaker(const Target& target, const Options& options, const CompileOptions& compile)
        : target_(target),
          options_(options),
          compile_(compile),
          uses_(target.graph.data().uses()) {}

    Result<std::vector<NamedValue>> make() {
        LEAT_RETURN_IF_ERROR(read_data_set());
        read_assignments();
        const GraphData& data = target_.graph.data();
        std::vector<NamedValue> values;
        const std::vector<ValueInfo> infos = target_.graph.inputs();
        for (size_t i = 0; i < infos.size(); ++i) {
            const ValueId id = data.inputs[i];
            LEAT_ASSIGN_OR_RETURN(Value value, make_one(i, infos[i], data.value(id).type, id));
            values.push_back({infos[i].name, std::move(value)});
        }
        // Of those that have values already what is asked for.
        const std::vector<ValueInfo> defaults = target_.graph.default_inputs();
        for (size_t i = 0; i < defaults.size(); ++i) {
            const DefaultInput& input = data.default_inputs[i];
            if (assigned_.count(input.name) == 0 && compile_.shapes.count(input.name) == 0 &&
                from_file(input.name) == nullptr) {
                continue;
            }
            const size_t place = index_of_default(data, input);  // none where it was folded away
            const ValueId id{place < data.values.size() ? int32_t(place) : -1};
            LEAT_ASSIGN_OR_RETURN(Value value,
                                  make_one(infos.size() + i, defaults[i], input.type, id));
            values.push_back({input.name, std::move(value)});
        }
        return values;
    }

  private:
    Status read_data_set() {
        std::filesystem::path folder = options_.text("inputs");
        if (folder.empty() && !target_.folder.empty() && options_.list("shape").empty() &&
            options_.list("dim").empty()) {
            std::vector<std::filesystem::path> sets = data_sets_of(target_.folder);
            folder = sets.empty() ? folder : sets.front();
        }
        if (folder.empty()) {
            return Status();
        }
        LEAT_ASSIGN_OR_RETURN(from_files_, load_inputs(target_.graph, folder));
        if (from_files_.empty() && options_.given("inputs") && !target_.graph.inputs().empty()) {
            return not_found("no input_0.pb in '{}'", folder.string());
        }
        return Status();
    }

    // Names that this target lacks are of others (target_names.h).
    void read_assignments() {
        for (const std::string& text : options_.list("input")) {
            const auto [name, value] = split_assignment(text);
            assigned_[name] = value;
        }
    }

    // Null: the data set has none.
    const Value* from_file(const std::string& name) const {
        const auto found =
            std::find_if(from_files_.begin(), from_files_.end(),
                         [&name](const NamedValue& value) { return value.name == name; });
        return found == from_files_.end() ? nullptr : &found->value;
    }

    // The index among all inputs; the value that operators read, if there is one.
    Result<Value> make_one(size_t index, const ValueInfo& info, const TypeInfo& type, ValueId id) {
        Pattern pattern;
        pattern.seed = uint64_t(options_.integer("seed")) * 1000003U + index;
        if (auto assigned = assigned_.find(info.name); assigned != assigned_.end()) {
            const std::string& text = assigned->second;
            if (!parse_pattern(text, pattern)) {
                LEAT_ASSIGN_OR_RETURN(Value value, load_file(text, kind_of(type)));
                LEAT_RETURN_IF_ERROR(check_extents(info, value, text, compile_));
                return value;
            }
        } else if (const Value* value = from_file(info.name); value != nullptr) {
            LEAT_RETURN_IF_ERROR(check_extents(info, *value, "its file", compile_));
            return *value;
        } else if (info.name.find("mask") != std::string::npos && !is_floating(info.dtype)) {
            pattern.kind = Pattern::Kind::kOnes;  // nothing is masked
        }
        if (!info.is_tensor) {
            return invalid_argument("input '{}' is not a tensor: give it with --inputs DIR",
                                    info.name);
        }
        LEAT_ASSIGN_OR_RETURN(Shape shape, resolve_shape(info, compile_));
        const std::optional<int64_t> limit =
            id.valid() ? index_limit(target_.graph.data(), uses_, id, 3) : std::nullopt;
        pattern.integer_end = std::max<int64_t>(1, limit.value_or(pattern.integer_end));
        LEAT_ASSIGN_OR_RETURN(Tensor tensor, make_tensor(info.dtype, shape, pattern));
        return Value(std::move(tensor));
    }

    static Result<Value> load_file(const std::string& file, Value::Kind kind) {
        std::filesystem::path path = file;
        if (std::error_code error; !std::filesystem::exists(path, error)) {
            return not_found("no file '{}', and no pattern is called so", file)
                .with_needed("a .npy or .pb file, zeros, ones, arange or random:SEED");
        }
        if (path.extension() == ".npz") {
            return unsupported("'{}' holds several arrays", file)
                .with_needed("one array in a .npy file");
        }
        if (path.extension() == ".npy") {
            LEAT_ASSIGN_OR_RETURN(Tensor tensor, load_npy(path));
            return Value(std::move(tensor));
        }
        return load_onnx_value(path, kind);
    }

    const Target& target_;
    const Options& options_;
    const CompileOptions& compile_;
    GraphData::Uses uses_;
    std::vector<NamedValue> from_files_;
    std::map<std::string, std::string> assigned_;
};

Status save_as_npy(const NamedValue& value,
                   const std::filesystem::path& folder,
                   const std::string& stem) {
    if (!value.value.is_tensor()) {
        return unsupported("'{}' is not a tensor: NumPy has no file for it", value.name);
    }
    std::string name = value.name;
    std::replace(name.begin(), name.end(), '/', '_');
    return save_npy(value.value.tensor(), folder / fmt::format("{}_{}.npy", stem, name));
}

}  // namespace

Result<std::vector<NamedValue>> make_inputs(const Target& target,
                                            const Options& options,
                                            const CompileOptions& compile) {
    const Activity activity(fmt::format("making inputs of '{}'", target.name));
    return InputMaker(target, options, compile).make();
}

InputShapes shapes_of(const std::vector<NamedValue>& values) {
    InputShapes shapes;
    for (const NamedValue& value : values) {
        if (value.value.is_tensor()) {
            shapes[value.name] = value.value.tensor().shape();
        }
    }
    return shapes;
}

Status save_values(const std::vector<NamedValue>& values,
                   const std::filesystem::path& folder,
                   const std::string& stem,
                   bool as_npy) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
        return not_found("cannot create folder '{}': {}", folder.string(), error.message());
    }
    for (size_t i = 0; i < values.size(); ++i) {
        std::filesystem::path file = folder / fmt::format("{}_{}.pb", stem, i);
        LEAT_RETURN_IF_ERROR(as_npy ? save_as_npy(values[i], folder, stem)
                                    : save_onnx_value(values[i].value, file));
    }
    return Status();
}

std::string describe_info(const ValueInfo& info) {
    if (!info.is_tensor) {
        return fmt::format("'{}' (not a tensor)", info.name);
    }
    std::string dims = info.has_shape ? "" : "*";
    for (const DimSpec& dim : info.dims) {
        dims += dims.empty() ? "" : ",";
        dims += dim.is_fixed()       ? std::to_string(dim.extent())
                : dim.name().empty() ? "?"
                                     : dim.name();
    }
    return fmt::format("'{}' {}[{}]", info.name, name_of(info.dtype), dims);
}

}  // namespace leat::bench

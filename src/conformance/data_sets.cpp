#include "conformance/data_sets.h"

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files/mapped_file.h"
#include "base/files/text_file.h"
#include "base/transformed.h"
#include "graph/graph_data.h"
#include "leat/onnx.h"
#include "onnx/proto.h"

namespace leat {
namespace {

// NumPy has no bfloat16, so the suite of ONNX 1.12 stores its tensors as uint16: the declared type
// decides what the bits mean.
void reinterpret_bfloat16(Value& value, const TypeInfo& declared) {
    if (value.is_tensor() && value.tensor().dtype() == DType::kUint16 &&
        declared.dtype == DType::kBfloat16) {
        const Tensor& bits = value.tensor();
        value = Value(Tensor::view(DType::kBfloat16, bits.shape(), bits.bytes(), bits.owner()));
    }
}

// What a file is for.
struct Slot {
    std::string name;
    const TypeInfo* type;
};

std::filesystem::path file_of(const std::filesystem::path& data_set,
                              std::string_view stem,
                              size_t number) {
    return data_set / fmt::format("{}_{}.pb", stem, number);
}

// As the file calls its tensor; empty: it has no name, or is no tensor.
std::string name_in(const std::filesystem::path& file) {
    const Result<MappedFile> mapped = MappedFile::open(file, FileAccess::kMap);
    onnx::TensorProto tensor;
    const bool is_tensor = mapped.ok() && parse(onnx::WireReader(mapped->bytes()), tensor).ok();
    return is_tensor ? std::string(tensor.name) : std::string();
}

// In the order of the files, if these name their tensors and nothing else; else as they are.
std::vector<Slot> in_order_of_names(const std::vector<Slot>& slots,
                                    const std::filesystem::path& data_set,
                                    std::string_view stem) {
    std::vector<Slot> ordered = slots;
    std::error_code error;
    for (size_t i = 0; std::filesystem::exists(file_of(data_set, stem, i), error); ++i) {
        const std::string name = name_in(file_of(data_set, stem, i));
        const auto rest = ordered.begin() + std::ptrdiff_t(std::min(i, ordered.size()));
        const auto found = std::find_if(rest, ordered.end(),
                                        [&name](const Slot& slot) { return slot.name == name; });
        if (found == ordered.end()) {
            return slots;
        }
        std::rotate(rest, found, found + 1);
    }
    return ordered;
}

Result<std::vector<NamedValue>> load_files(const std::vector<Slot>& slots,
                                           const std::filesystem::path& data_set,
                                           std::string_view stem) {
    std::vector<NamedValue> values;
    std::error_code error;
    for (size_t i = 0;; ++i) {
        const std::filesystem::path file = file_of(data_set, stem, i);
        if (!std::filesystem::exists(file, error)) {
            // ONNX's generator writes no file for an optional input that is empty.
            if (stem != "input" || i >= slots.size() ||
                kind_of(*slots[i].type) != Value::Kind::kOptional) {
                break;
            }
            values.push_back({slots[i].name, Value::optional({})});
            continue;
        }
        if (i >= slots.size()) {
            return invalid_argument("{} files for {} {}s of the graph", i + 1, slots.size(), stem)
                .with_file(file.string());
        }
        Result<Value> value = load_onnx_value(file, kind_of(*slots[i].type));
        if (!value.ok()) {
            return value.error().with_file(file.string());
        }
        reinterpret_bfloat16(*value, *slots[i].type);
        values.push_back({slots[i].name, std::move(value).value()});
    }
    return values;
}

}  // namespace

Value::Kind kind_of(const TypeInfo& type) {
    switch (type.kind) {
        case TypeInfo::Kind::kSequence:
            return Value::Kind::kSequence;
        case TypeInfo::Kind::kOptional:
            return Value::Kind::kOptional;
        default:
            return Value::Kind::kTensor;
    }
}

std::vector<std::filesystem::path> data_sets_of(const std::filesystem::path& folder) {
    constexpr std::string_view kPrefix = "test_data_set_";
    std::map<std::pair<int64_t, std::string>, std::filesystem::path> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        std::string name = entry.path().filename().string();
        if (entry.is_directory(error) && name.compare(0, kPrefix.size(), kPrefix) == 0) {
            int64_t number = parse_integer(name.substr(kPrefix.size())).value_or(1 << 30);
            found[{number, name}] = entry.path();
        }
    }
    return transformed(found, [](const auto& set) { return set.second; });
}

Result<std::vector<NamedValue>> load_inputs(const Graph& graph,
                                            const std::filesystem::path& data_set) {
    const GraphData& data = graph.data();
    std::vector<Slot> slots;
    for (const ValueId id : data.inputs) {
        slots.push_back({data.value(id).name, &data.value(id).type});
    }
    for (const DefaultInput& input : data.default_inputs) {
        slots.push_back({input.name, &input.type});
    }
    // The layout does not say where those with defaults stand.
    if (!data.default_inputs.empty()) {
        slots = in_order_of_names(slots, data_set, "input");
    }
    return load_files(slots, data_set, "input");
}

Result<std::vector<NamedValue>> load_outputs(const Graph& graph,
                                             const std::filesystem::path& data_set) {
    const GraphData& data = graph.data();
    std::vector<Slot> slots;
    for (size_t i = 0; i < data.outputs.size(); ++i) {
        slots.push_back({data.output_names[i], &data.value(data.outputs[i]).type});
    }
    return load_files(slots, data_set, "output");
}

}  // namespace leat

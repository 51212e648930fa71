#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/float_formats.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "graph/text_lexis.h"

namespace leat {
namespace text {

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            default:
                if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
                    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
                } else {
                    out += c;
                }
        }
    }
    return out + '"';
}

std::string as_name(std::string_view name) {
    const bool plain = !name.empty() && name != "_" && name != "." && name != "const" &&
                       name_length(name) == name.size();
    return plain ? std::string(name) : in_quotes(name);
}

}  // namespace text

namespace {

using text::as_name;
using text::in_quotes;

constexpr uint64_t kFnvOffset = 0xcbf29ce484222325U;
constexpr uint64_t kFnvPrime = 0x100000001b3U;
// Larger constants are hashed in samples: reading all weights would pull a mapped file into memory.
constexpr int64_t kHashBlockBytes = 64 << 10;
constexpr int64_t kHashBlocks = 16;

uint64_t hash_bytes(uint64_t hash, const std::byte* bytes, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        hash = (hash ^ uint64_t(bytes[i])) * kFnvPrime;
    }
    return hash;
}

uint64_t elements_hash(const Tensor& tensor) {
    uint64_t hash = kFnvOffset;
    if (tensor.dtype() == DType::kString) {
        for (const std::string& element : tensor.data<std::string>()) {
            hash = hash_bytes(hash, reinterpret_cast<const std::byte*>(element.data()),
                              int64_t(element.size()) + 1);
        }
        return hash;
    }
    const int64_t bytes = tensor.byte_count();
    if (bytes <= kHashBlockBytes * kHashBlocks) {
        return hash_bytes(hash, tensor.bytes(), bytes);
    }
    for (int64_t block = 0; block < kHashBlocks; ++block) {
        const int64_t begin = (bytes - kHashBlockBytes) / (kHashBlocks - 1) * block;
        hash = hash_bytes(hash, tensor.bytes() + begin, kHashBlockBytes);
    }
    return hash;
}

template <class T>
T element_at(const Tensor& tensor, int64_t i) {
    T element;
    std::memcpy(&element, tensor.bytes() + i * int64_t(sizeof(T)), sizeof(T));
    return element;
}

std::string print_element(const Tensor& tensor, int64_t i) {
    switch (tensor.dtype()) {
        case DType::kFloat32:
            return fmt::format("{}", element_at<float>(tensor, i));
        case DType::kFloat64:
            return fmt::format("{}", element_at<double>(tensor, i));
        case DType::kFloat16:
            return fmt::format("{}", to_float(element_at<Float16>(tensor, i)));
        case DType::kBfloat16:
            return fmt::format("{}", to_float(element_at<BFloat16>(tensor, i)));
        case DType::kInt8:
            return fmt::format("{}", int(element_at<int8_t>(tensor, i)));
        case DType::kUint8:
            return fmt::format("{}", int(element_at<uint8_t>(tensor, i)));
        case DType::kInt16:
            return fmt::format("{}", element_at<int16_t>(tensor, i));
        case DType::kUint16:
            return fmt::format("{}", element_at<uint16_t>(tensor, i));
        case DType::kInt32:
            return fmt::format("{}", element_at<int32_t>(tensor, i));
        case DType::kUint32:
            return fmt::format("{}", element_at<uint32_t>(tensor, i));
        case DType::kInt64:
            return fmt::format("{}", element_at<int64_t>(tensor, i));
        case DType::kUint64:
            return fmt::format("{}", element_at<uint64_t>(tensor, i));
        case DType::kBool:
            return element_at<uint8_t>(tensor, i) != 0 ? "true" : "false";
        case DType::kString:
            return in_quotes(tensor.data<std::string>()[size_t(i)]);
        default:
            return {};
    }
}

std::string print_elements(const Tensor& tensor) {
    std::string out = "{";
    if (tensor.element_count() > 0 && print_element(tensor, 0).empty()) {
        // Packed, 8-bit float and complex types: their bytes.
        out += "bytes \"";
        for (int64_t i = 0; i < tensor.byte_count(); ++i) {
            out += fmt::format("{:02x}", uint8_t(tensor.bytes()[i]));
        }
        return out + "\"}";
    }
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
        out += (i == 0 ? "" : ", ") + print_element(tensor, i);
    }
    return out + '}';
}

std::string print_dim(const DimSpec& dim) {
    if (dim.is_fixed()) {
        return std::to_string(dim.extent());
    }
    const std::string& name = dim.name();
    if (name.empty()) {
        return "?";
    }
    const bool plain =
        std::all_of(name.begin(), name.end(), text::is_dim_char) && name != "*" &&
        !std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    return plain ? name : in_quotes(name);
}

std::string print_type(const TypeInfo& type) {
    if (!type.is_tensor()) {
        switch (type.kind) {
            case TypeInfo::Kind::kSequence:
                return "seq(" + (type.element ? print_type(*type.element) : std::string()) + ")";
            case TypeInfo::Kind::kOptional:
                return "optional(" + (type.element ? print_type(*type.element) : std::string()) +
                       ")";
            default:
                return "map()";
        }
    }
    std::string out(name_of(type.dtype));
    if (!type.dims) {
        return out + "[*]";
    }
    out += '[';
    for (size_t i = 0; i < type.dims->size(); ++i) {
        out.append(i == 0 ? "" : ",").append(print_dim((*type.dims)[i]));
    }
    return out + ']';
}

// Never mistaken for an integer.
std::string print_float_attribute(float value) {
    std::string out = fmt::format("{}", value);
    return out.find_first_of(".en") == std::string::npos ? out + ".0" : out;
}

template <class T, class F>
std::string print_list(const std::vector<T>& elements, const char* empty, F print) {
    if (elements.empty()) {
        return empty;
    }
    std::string out = "[";
    for (size_t i = 0; i < elements.size(); ++i) {
        out.append(i == 0 ? "" : ",").append(print(elements[i]));
    }
    return out + ']';
}

// The lines of the text one level further in, without the last one's end.
std::string further_in(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, text.size() - 1)) {
        out += c;
        out += c == '\n' ? "  " : "";
    }
    return out;
}

struct AttributePrinter {
    int64_t max_printed_elements = kMaxPrintedElements;  // of constants of bodies

    std::string operator()(const Graph& body) const {
        return further_in(graph_to_text(body.data(), max_printed_elements));
    }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(float value) const { return print_float_attribute(value); }
    std::string operator()(const std::string& value) const { return in_quotes(value); }
    std::string operator()(const Tensor& value) const {
        return print_type(TypeInfo::tensor(value.dtype(), value.shape())) + print_elements(value);
    }
    std::string operator()(const std::vector<int64_t>& list) const {
        return print_list(list, "ints[]", [](int64_t value) { return std::to_string(value); });
    }
    std::string operator()(const std::vector<float>& list) const {
        return print_list(list, "floats[]", print_float_attribute);
    }
    std::string operator()(const std::vector<std::string>& list) const {
        return print_list(list, "strings[]", in_quotes);
    }
};

std::string print_attributes(const Attributes& attributes, const AttributePrinter& printer) {
    std::string out;
    for (const auto& [key, value] : attributes) {
        out.append(out.empty() ? " {" : ", ").append(as_name(key)).append("=");
        out.append(std::visit(printer, value));
    }
    return out.empty() ? out : out + '}';
}

class Printer {
  public:
    Printer(const GraphData& graph, int64_t max_printed_elements)
        : graph_(graph), max_printed_elements_(max_printed_elements) {}

    std::string print() const {
        std::string out = "graph " + in_quotes(graph_.name) + " (";
        for (size_t i = 0; i < graph_.inputs.size(); ++i) {
            const ValueData& value = graph_.value(graph_.inputs[i]);
            out += (i == 0 ? "" : ", ") + as_name(value.name) + ": " + print_type(value.type);
        }
        for (const DefaultInput& input : graph_.default_inputs) {
            out += (out.back() == '(' ? "" : ", ") + as_name(input.name) +
                   " = const: " + print_type(input.type);
        }
        out += ") -> (";
        for (size_t i = 0; i < graph_.outputs.size(); ++i) {
            const ValueData& value = graph_.value(graph_.outputs[i]);
            const std::string& name = graph_.output_names[i];
            out += (i == 0 ? "" : ", ") + as_name(name);
            out += name == value.name ? "" : " = " + as_name(value.name);
            out += ": " + print_type(value.type);
        }
        out += ") {\n";
        for (const ValueData& value : graph_.values) {
            if (value.constant) {
                out += print_constant(value);
            }
        }
        for (const NodeData& node : graph_.nodes) {
            if (!node.dead) {
                out += print_node(node);
            }
        }
        return out + "}\n";
    }

  private:
    std::string name(ValueId id) const { return id.valid() ? as_name(graph_.value(id).name) : "_"; }

    std::string names(std::span<const ValueId> ids) const {
        std::string out;
        for (const ValueId& id : ids) {
            out += (&id == ids.data() ? "" : ", ") + name(id);
        }
        return out;
    }

    std::string print_constant(const ValueData& value) const {
        const Tensor& tensor = *value.constant;
        std::string out = "  const " + as_name(value.name) + ": " +
                          print_type(TypeInfo::tensor(tensor.dtype(), tensor.shape()));
        if (value.layout != Layout::kRowMajor) {
            out += fmt::format(" @layout={}", name_of(value.layout));
        }
        const bool elided =
            max_printed_elements_ >= 0 && tensor.element_count() > max_printed_elements_;
        out += elided ? fmt::format(" = <hash {:016x}, {} elements>\n", elements_hash(tensor),
                                    tensor.element_count())
                      : " = " + print_elements(tensor) + "\n";
        return out;
    }

    std::string print_layouts(const NodeData& node) const {
        std::vector<std::string> layouts;
        bool any = false;
        for (ValueId id : node.outputs) {
            const Layout layout = id.valid() ? graph_.value(id).layout : Layout::kRowMajor;
            any = any || layout != Layout::kRowMajor;
            layouts.emplace_back(name_of(layout));
        }
        if (!any) {
            return {};
        }
        std::string out = " @layout=" + layouts[0];
        for (size_t i = 1; i < layouts.size(); ++i) {
            out += "," + layouts[i];
        }
        return out;
    }

    std::string print_step(const NodeData& node, const EpilogueStep& step) const {
        std::string out = " +" + std::string(step.op->name) + "(";
        if (step.operand_input >= 0) {
            out += name(node.inputs[size_t(step.operand_input)]);
            out += step.result_is_rhs ? ", ." : "";
        }
        return out + ")" + attributes_to_text(step.attributes);
    }

    std::string print_node(const NodeData& node) const {
        const size_t own = node.own_inputs();
        const std::span<const ValueId> inputs(node.inputs);
        std::string out = "  " + names(node.outputs) + " = ";
        out += as_name(node.domain.empty() ? node.op_type : node.domain + "." + node.op_type);
        out.append("(").append(names(inputs.first(own))).append(")");
        if (node.captured_count() > 0) {
            out.append("[").append(names(inputs.subspan(own))).append("]");
        }
        out += print_attributes(node.attributes, {max_printed_elements_});
        out += print_layouts(node);
        for (const EpilogueStep& step : node.epilogue) {
            out += print_step(node, step);
        }
        const bool named_as_result = !node.outputs.empty() && node.outputs[0].valid() &&
                                     node.name == graph_.value(node.outputs[0]).name;
        return out + (named_as_result ? "\n" : "  # " + as_name(node.name) + "\n");
    }

    const GraphData& graph_;
    int64_t max_printed_elements_;
};

}  // namespace

std::string attributes_to_text(const Attributes& attributes) {
    return print_attributes(attributes, {});
}

std::string elements_to_text(const Tensor& tensor) {
    return print_elements(tensor);
}

std::string graph_to_text(const GraphData& graph, int64_t max_printed_elements) {
    return Printer(graph, max_printed_elements).print();
}

}  // namespace leat

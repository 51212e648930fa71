// Recursive descent over the grammar that text.h shows.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "base/float_formats.h"
#include "base/out_of_memory.h"
#include "graph/graph_data.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "graph/text_lexer.h"

namespace leat {
namespace {

using text::Lexer;

// Sequences of sequences of ...: deeper ones are no types of ONNX.
constexpr int kMaxNesting = 8;
constexpr int64_t kMaxElementBytes = 32;

template <class T>
bool parse_number(std::string_view word, T& value) {
    if constexpr (std::is_integral_v<T>) {
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        return error == std::errc() && end == word.data() + word.size() && !word.empty();
    } else {
        const bool negative = !word.empty() && word[0] == '-';
        const std::string_view magnitude = word.substr(negative ? 1 : 0);
        if (magnitude == "nan" || magnitude == "inf") {
            value = magnitude == "nan" ? std::numeric_limits<T>::quiet_NaN()
                                       : std::numeric_limits<T>::infinity();
            value = negative ? -value : value;
            return true;
        }
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        return error == std::errc() && end == word.data() + word.size() && !word.empty();
    }
}

class Parser {
  public:
    explicit Parser(const Lexer& lexer, int depth = 0)
        : lexer_(lexer), depth_(depth), graph_(std::make_unique<GraphData>()) {}

    // All of the text.
    Result<Graph> parse();

  private:
    Result<Graph> parse_whole();
    Result<Graph> parse_body();
    Status parse_header();
    Status parse_input();
    Status parse_output();
    void add_outputs();
    Status parse_constant();
    Status parse_node();
    Status parse_layouts(const std::vector<ValueId>& outputs);
    Status parse_step(NodeData& node);
    Status parse_arguments(NodeData& node);
    Result<TypeInfo> parse_type(int depth = 0);
    Result<std::vector<DimSpec>> parse_dims();
    Result<Attributes> parse_attributes();
    Result<AttributeValue> parse_attribute();
    Result<AttributeValue> parse_number_attribute();
    Result<AttributeValue> parse_list();
    Result<Tensor> parse_elements(const TypeInfo& type);
    Status parse_element(Tensor& tensor, int64_t i);
    Status parse_bytes(Tensor& tensor);
    // A list of what `item` parses, in parentheses or another pair.
    template <class F>
    Status parse_sequence(const char* open, const char* close, F item);
    // The value of that name; made when it is first named.
    ValueId value_of(const std::string& name);

    Lexer lexer_;
    int depth_;  // of the bodies around
    std::unique_ptr<GraphData> graph_;
    std::unordered_map<std::string, ValueId> values_;
    std::vector<std::pair<std::string, TypeInfo>> named_outputs_;  // by the values' names
};

template <class F>
Status Parser::parse_sequence(const char* open, const char* close, F item) {
    LEAT_RETURN_IF_ERROR(lexer_.expect(open));
    if (lexer_.take(close)) {
        return {};
    }
    do {
        LEAT_RETURN_IF_ERROR(item());
    } while (lexer_.take(","));
    return lexer_.expect(close);
}

ValueId Parser::value_of(const std::string& name) {
    const auto found = values_.find(name);
    if (found != values_.end()) {
        return found->second;
    }
    const ValueId id = graph_->add_value(name, {});
    values_.emplace(name, id);
    return id;
}

Result<Graph> Parser::parse() {
    LEAT_ASSIGN_OR_RETURN(Graph graph, parse_whole());
    if (!lexer_.at_end()) {
        return lexer_.error("the end of the text");
    }
    return graph;
}

Result<Graph> Parser::parse_body() {
    if (depth_ >= kMaxBodyNesting) {
        return lexer_.error("a body that is not nested so deeply");
    }
    Parser inner(lexer_, depth_ + 1);
    LEAT_ASSIGN_OR_RETURN(Graph body, inner.parse_whole());
    lexer_ = inner.lexer_;
    return body;
}

Result<Graph> Parser::parse_whole() {
    LEAT_RETURN_IF_ERROR(parse_header());
    LEAT_RETURN_IF_ERROR(lexer_.expect("{"));
    while (!lexer_.take("}")) {
        LEAT_RETURN_IF_ERROR(lexer_.take("const ") ? parse_constant() : parse_node());
    }
    add_outputs();
    return Graph(std::move(graph_));
}

Status Parser::parse_header() {
    LEAT_RETURN_IF_ERROR(lexer_.expect("graph"));
    LEAT_ASSIGN_OR_RETURN(graph_->name, lexer_.name());
    LEAT_RETURN_IF_ERROR(parse_sequence("(", ")", [&] { return parse_input(); }));
    LEAT_RETURN_IF_ERROR(lexer_.expect("->"));
    return parse_sequence("(", ")", [&] { return parse_output(); });
}

Status Parser::parse_input() {
    LEAT_ASSIGN_OR_RETURN(const std::string name, lexer_.name());
    const bool has_default = lexer_.take("=");
    LEAT_RETURN_IF_ERROR(has_default ? lexer_.expect("const") : Status());
    LEAT_RETURN_IF_ERROR(lexer_.expect(":"));
    LEAT_ASSIGN_OR_RETURN(TypeInfo type, parse_type());
    if (has_default) {
        graph_->default_inputs.push_back({name, std::move(type)});
        return {};
    }
    const ValueId id = value_of(name);
    graph_->value(id).type = std::move(type);
    graph_->inputs.push_back(id);
    return {};
}

Status Parser::parse_output() {
    LEAT_ASSIGN_OR_RETURN(std::string name, lexer_.name());
    std::string value_name = name;
    if (lexer_.take("=")) {
        LEAT_ASSIGN_OR_RETURN(value_name, lexer_.name());
    }
    LEAT_RETURN_IF_ERROR(lexer_.expect(":"));
    LEAT_ASSIGN_OR_RETURN(TypeInfo type, parse_type());
    graph_->output_names.push_back(std::move(name));
    named_outputs_.push_back({std::move(value_name), std::move(type)});
    return {};
}

// Behind all lines, so that constants which are outputs keep their places among the others.
void Parser::add_outputs() {
    for (auto& [name, type] : named_outputs_) {
        const ValueId id = value_of(name);
        ValueData& value = graph_->value(id);
        value.type = value.constant ? value.type : std::move(type);
        graph_->outputs.push_back(id);
    }
}

Status Parser::parse_constant() {
    LEAT_ASSIGN_OR_RETURN(const std::string name, lexer_.name());
    LEAT_RETURN_IF_ERROR(lexer_.expect(":"));
    LEAT_ASSIGN_OR_RETURN(TypeInfo type, parse_type());
    const ValueId id = value_of(name);
    if (graph_->value(id).constant) {
        return lexer_.error(fmt::format("one definition of '{}'", name));
    }
    LEAT_RETURN_IF_ERROR(parse_layouts({id}));
    LEAT_RETURN_IF_ERROR(lexer_.expect("="));
    if (lexer_.peek() == '<') {
        return lexer_.error(fmt::format("the elements of '{}': it was printed as a hash", name));
    }
    LEAT_ASSIGN_OR_RETURN(graph_->value(id).constant, parse_elements(type));
    graph_->value(id).type = std::move(type);
    return {};
}

Status Parser::parse_node() {
    NodeData node;
    const NodeId id{int32_t(graph_->nodes.size())};
    do {
        if (lexer_.take_absent()) {
            node.outputs.emplace_back();
            continue;
        }
        LEAT_ASSIGN_OR_RETURN(const std::string name, lexer_.name());
        const ValueId output = value_of(name);
        if (graph_->value(output).producer.valid()) {
            return lexer_.error(fmt::format("one definition of '{}'", name));
        }
        graph_->value(output).producer = id;
        graph_->value(output).output_index = int32_t(node.outputs.size());
        node.outputs.push_back(output);
    } while (lexer_.take(","));
    LEAT_RETURN_IF_ERROR(lexer_.expect("="));
    LEAT_ASSIGN_OR_RETURN(const std::string op, lexer_.name());
    const size_t dot = op.rfind('.');
    node.domain = dot == std::string::npos ? "" : op.substr(0, dot);
    node.op_type = dot == std::string::npos ? op : op.substr(dot + 1);
    node.def = find_op(node.domain, node.op_type);
    LEAT_RETURN_IF_ERROR(parse_arguments(node));
    LEAT_ASSIGN_OR_RETURN(node.attributes, parse_attributes());
    if (node.own_input_count < 0 && node.has_bodies()) {
        node.own_input_count = int32_t(node.inputs.size());
    }
    LEAT_RETURN_IF_ERROR(parse_layouts(node.outputs));
    while (lexer_.peek() == '+') {
        LEAT_RETURN_IF_ERROR(parse_step(node));
    }
    if (lexer_.take_comment_mark()) {
        LEAT_ASSIGN_OR_RETURN(node.name, lexer_.name());
    } else if (node.outputs[0].valid()) {
        node.name = graph_->value(node.outputs[0]).name;
    }
    graph_->nodes.push_back(std::move(node));
    return {};
}

Status Parser::parse_layouts(const std::vector<ValueId>& outputs) {
    if (!lexer_.take("@layout=")) {
        return {};
    }
    size_t i = 0;
    do {
        constexpr Layout kLayouts[] = {Layout::kRowMajor, Layout::kChannelsLast,
                                       Layout::kTransposed};
        const auto* const layout =
            std::find_if(std::begin(kLayouts), std::end(kLayouts),
                         [this](Layout known) { return lexer_.take(name_of(known)); });
        if (layout == std::end(kLayouts)) {
            return lexer_.error("row_major, channels_last or transposed");
        }
        if (i >= outputs.size()) {
            return lexer_.error("a layout for each result");
        }
        if (outputs[i].valid()) {
            graph_->value(outputs[i]).layout = *layout;
        }
        ++i;
    } while (lexer_.take(","));
    return {};
}

Status Parser::parse_step(NodeData& node) {
    LEAT_RETURN_IF_ERROR(lexer_.expect("+"));
    LEAT_ASSIGN_OR_RETURN(const std::string op, lexer_.name());
    EpilogueStep step;
    step.op = find_op("", op);
    if (step.op == nullptr) {
        return lexer_.error("a known operator after '+'").with_found("'" + op + "'");
    }
    if (node.own_input_count < 0) {
        node.own_input_count = int32_t(node.inputs.size());
    }
    LEAT_RETURN_IF_ERROR(lexer_.expect("("));
    if (!lexer_.take(")")) {
        LEAT_ASSIGN_OR_RETURN(const std::string operand, lexer_.name());
        step.operand_input = int32_t(node.inputs.size());
        node.inputs.push_back(value_of(operand));
        if (lexer_.take(",")) {
            LEAT_RETURN_IF_ERROR(lexer_.expect("."));
            step.result_is_rhs = true;
        }
        LEAT_RETURN_IF_ERROR(lexer_.expect(")"));
    }
    LEAT_ASSIGN_OR_RETURN(step.attributes, parse_attributes());
    node.epilogue.push_back(std::move(step));
    return {};
}

// "(a, b)", and "(a, b)[c]" where bodies capture c.
Status Parser::parse_arguments(NodeData& node) {
    const auto parse_argument = [&]() -> Status {
        if (lexer_.take_absent()) {
            node.inputs.emplace_back();
            return {};
        }
        LEAT_ASSIGN_OR_RETURN(const std::string name, lexer_.name());
        node.inputs.push_back(value_of(name));
        return {};
    };
    LEAT_RETURN_IF_ERROR(parse_sequence("(", ")", parse_argument));
    if (lexer_.peek() != '[') {
        return {};
    }
    node.own_input_count = int32_t(node.inputs.size());
    return parse_sequence("[", "]", parse_argument);
}

Result<TypeInfo> Parser::parse_type(int depth) {
    if (depth > kMaxNesting) {
        return lexer_.error("a type that is not nested so deeply");
    }
    for (const auto& [word, kind] : {std::pair("seq(", TypeInfo::Kind::kSequence),
                                     std::pair("optional(", TypeInfo::Kind::kOptional),
                                     std::pair("map(", TypeInfo::Kind::kMap)}) {
        if (!lexer_.take(word)) {
            continue;
        }
        TypeInfo type;
        type.kind = kind;
        if (!lexer_.take(")")) {
            LEAT_ASSIGN_OR_RETURN(TypeInfo element, parse_type(depth + 1));
            type.element = std::make_shared<TypeInfo>(std::move(element));
            LEAT_RETURN_IF_ERROR(lexer_.expect(")"));
        }
        return type;
    }
    LEAT_ASSIGN_OR_RETURN(const std::string word, lexer_.name());
    const std::optional<DType> dtype =
        word == "undefined" ? DType::kUndefined : dtype_from_name(word);
    if (!dtype) {
        return lexer_.error("an element type").with_found("'" + word + "'");
    }
    if (lexer_.take("[*]")) {
        return TypeInfo::tensor(*dtype, std::nullopt);
    }
    LEAT_ASSIGN_OR_RETURN(std::vector<DimSpec> dims, parse_dims());
    return TypeInfo::tensor(*dtype, std::move(dims));
}

Result<std::vector<DimSpec>> Parser::parse_dims() {
    std::vector<DimSpec> dims;
    LEAT_RETURN_IF_ERROR(parse_sequence("[", "]", [&]() -> Status {
        int64_t extent = 0;
        if (lexer_.take("?")) {
            dims.push_back(DimSpec::unknown());
        } else if (lexer_.peek() == '"') {
            LEAT_ASSIGN_OR_RETURN(const std::string name, lexer_.quoted_string());
            dims.emplace_back(std::string_view(name));
        } else if (const std::string_view word = lexer_.dim(); parse_number(word, extent)) {
            dims.emplace_back(extent);
        } else if (!word.empty()) {
            dims.emplace_back(word);
        } else {
            return lexer_.error("an extent");
        }
        return {};
    }));
    return dims;
}

Result<Attributes> Parser::parse_attributes() {
    Attributes attributes;
    if (lexer_.peek() != '{') {
        return attributes;
    }
    LEAT_RETURN_IF_ERROR(parse_sequence("{", "}", [&]() -> Status {
        LEAT_ASSIGN_OR_RETURN(std::string key, lexer_.name());
        LEAT_RETURN_IF_ERROR(lexer_.expect("="));
        LEAT_ASSIGN_OR_RETURN(AttributeValue value, parse_attribute());
        if (attributes.count(key) != 0) {
            return lexer_.error(fmt::format("one value of attribute '{}'", key));
        }
        attributes.emplace(std::move(key), std::move(value));
        return {};
    }));
    return attributes;
}

Result<AttributeValue> Parser::parse_attribute() {
    const char next = lexer_.peek();
    if (next == '"') {
        LEAT_ASSIGN_OR_RETURN(std::string value, lexer_.quoted_string());
        return AttributeValue(std::move(value));
    }
    if (next == '[') {
        return parse_list();
    }
    if (lexer_.take("ints[]")) {
        return AttributeValue(std::vector<int64_t>());
    }
    if (lexer_.take("floats[]")) {
        return AttributeValue(std::vector<float>());
    }
    if (lexer_.take("strings[]")) {
        return AttributeValue(std::vector<std::string>());
    }
    const Lexer start = lexer_;
    const std::string_view word = lexer_.scalar();
    lexer_ = start;
    if (word == "graph") {
        LEAT_ASSIGN_OR_RETURN(Graph body, parse_body());
        return AttributeValue(std::move(body));
    }
    if (dtype_from_name(word)) {
        LEAT_ASSIGN_OR_RETURN(const TypeInfo type, parse_type());
        LEAT_ASSIGN_OR_RETURN(Tensor tensor, parse_elements(type));
        return AttributeValue(std::move(tensor));
    }
    return parse_number_attribute();
}

Result<AttributeValue> Parser::parse_number_attribute() {
    const std::string_view word = lexer_.scalar();
    int64_t integer = 0;
    float number = 0;
    if (parse_number(word, integer)) {
        return AttributeValue(integer);
    }
    if (parse_number(word, number)) {
        return AttributeValue(number);
    }
    return lexer_.error("an attribute's value").with_found(fmt::format("'{}'", word));
}

Result<AttributeValue> Parser::parse_list() {
    std::vector<AttributeValue> items;
    LEAT_RETURN_IF_ERROR(parse_sequence("[", "]", [&]() -> Status {
        if (lexer_.peek() == '[') {
            return lexer_.error("a list without lists in it");
        }
        LEAT_ASSIGN_OR_RETURN(AttributeValue item, parse_attribute());
        items.push_back(std::move(item));
        return {};
    }));
    std::vector<int64_t> integers;
    std::vector<float> numbers;
    std::vector<std::string> strings;
    for (const AttributeValue& item : items) {
        if (const auto* integer = std::get_if<int64_t>(&item)) {
            integers.push_back(*integer);
        } else if (const auto* number = std::get_if<float>(&item)) {
            numbers.push_back(*number);
        } else if (const auto* string = std::get_if<std::string>(&item)) {
            strings.push_back(*string);
        }
    }
    if (integers.size() == items.size()) {
        return AttributeValue(std::move(integers));
    }
    if (numbers.size() == items.size()) {
        return AttributeValue(std::move(numbers));
    }
    if (strings.size() == items.size()) {
        return AttributeValue(std::move(strings));
    }
    return lexer_.error("a list of integers, of floats or of strings");
}

Result<Tensor> Parser::parse_elements(const TypeInfo& type) {
    const std::optional<Shape> shape = type.fixed_shape();
    if (!shape) {
        return lexer_.error("fixed extents of a constant").with_found(type.to_string());
    }
    // Every element takes at least a character, so no more memory than the text is worth.
    const std::optional<int64_t> bytes = storage_bytes(type.dtype, shape->element_count());
    if (!bytes || *bytes / kMaxElementBytes > lexer_.remaining_bytes()) {
        return lexer_.error(fmt::format("{} elements", shape->element_count()));
    }
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(type.dtype, *shape));
    const Lexer start = lexer_;
    LEAT_RETURN_IF_ERROR(lexer_.expect("{"));
    if (lexer_.take("bytes ")) {
        LEAT_RETURN_IF_ERROR(parse_bytes(tensor));
        LEAT_RETURN_IF_ERROR(lexer_.expect("}"));
        return tensor;
    }
    lexer_ = start;
    int64_t count = 0;
    LEAT_RETURN_IF_ERROR(parse_sequence("{", "}", [&]() -> Status {
        if (count >= tensor.element_count()) {
            return lexer_.error(fmt::format("{} elements", tensor.element_count()));
        }
        return parse_element(tensor, count++);
    }));
    if (count != tensor.element_count()) {
        return lexer_.error(fmt::format("{} elements", tensor.element_count()))
            .with_found(std::to_string(count));
    }
    return tensor;
}

template <class T>
bool store_number(Tensor& tensor, int64_t i, std::string_view word) {
    return parse_number(word, tensor.mutable_data<T>()[size_t(i)]);
}

// Integers of any type: through 64 bits, then checked.
template <class T>
bool store_small(Tensor& tensor, int64_t i, std::string_view word) {
    int64_t value = 0;
    if (!parse_number(word, value) || value < int64_t(std::numeric_limits<T>::min()) ||
        value > int64_t(std::numeric_limits<T>::max())) {
        return false;
    }
    tensor.mutable_data<T>()[size_t(i)] = T(value);
    return true;
}

bool store_element(Tensor& tensor, int64_t i, std::string_view word) {
    float number = 0;
    switch (tensor.dtype()) {
        case DType::kFloat32:
            return store_number<float>(tensor, i, word);
        case DType::kFloat64:
            return store_number<double>(tensor, i, word);
        case DType::kFloat16:
            tensor.mutable_data<Float16>()[size_t(i)] =
                parse_number(word, number) ? to_float16(number) : Float16();
            return parse_number(word, number);
        case DType::kBfloat16:
            tensor.mutable_data<BFloat16>()[size_t(i)] =
                parse_number(word, number) ? to_bfloat16(number) : BFloat16();
            return parse_number(word, number);
        case DType::kInt8:
            return store_small<int8_t>(tensor, i, word);
        case DType::kUint8:
            return store_small<uint8_t>(tensor, i, word);
        case DType::kInt16:
            return store_small<int16_t>(tensor, i, word);
        case DType::kUint16:
            return store_small<uint16_t>(tensor, i, word);
        case DType::kInt32:
            return store_small<int32_t>(tensor, i, word);
        case DType::kUint32:
            return store_small<uint32_t>(tensor, i, word);
        case DType::kInt64:
            return store_number<int64_t>(tensor, i, word);
        case DType::kUint64:
            return store_number<uint64_t>(tensor, i, word);
        case DType::kBool:
            tensor.mutable_bytes()[i] = std::byte(word == "true" ? 1 : 0);
            return word == "true" || word == "false";
        default:
            return false;
    }
}

Status Parser::parse_element(Tensor& tensor, int64_t i) {
    if (tensor.dtype() == DType::kString) {
        LEAT_ASSIGN_OR_RETURN(tensor.mutable_data<std::string>()[size_t(i)],
                              lexer_.quoted_string());
        return {};
    }
    const std::string_view word = lexer_.scalar();
    if (!store_element(tensor, i, word)) {
        return lexer_.error(fmt::format("an element of type {}", name_of(tensor.dtype())))
            .with_found(fmt::format("'{}'", word));
    }
    return {};
}

Status Parser::parse_bytes(Tensor& tensor) {
    LEAT_ASSIGN_OR_RETURN(const std::string digits, lexer_.quoted_string());
    if (tensor.dtype() == DType::kString || int64_t(digits.size()) != 2 * tensor.byte_count()) {
        return lexer_.error(fmt::format("{} hexadecimal digits", 2 * tensor.byte_count()));
    }
    for (size_t i = 0; i < digits.size(); i += 2) {
        uint8_t byte = 0;
        const auto [end, error] =
            std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
        if (error != std::errc() || end != digits.data() + i + 2) {
            return lexer_.error("hexadecimal digits");
        }
        tensor.mutable_bytes()[i / 2] = std::byte(byte);
    }
    return {};
}

}  // namespace

Result<Graph> parse_graph(std::string_view text) {
    return catch_bad_alloc("parse the graph", [&] { return Parser(Lexer(text)).parse(); });
}

}  // namespace leat

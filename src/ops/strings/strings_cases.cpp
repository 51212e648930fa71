#include "conformance/case_inputs.h"

namespace leat::testing {
namespace {

using Texts = std::vector<std::string>;

CaseInput given_texts() {
    return given_input<std::string>(
        {2, 5}, {"", "a", " one two  three ", "a,b,,c", ",", "\ta\nb", "www.example.com",
                 "a text that is longer than what a string holds within itself", "é ü", "\xff a"});
}

}  // namespace

std::vector<OpCase> strings_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const char* op_type, const std::string& name,
                              std::vector<CaseInput> inputs, Attributes attributes = {}) {
        OpCase op_case = make_case(op_type, name, std::move(inputs), std::move(attributes));
        op_case.output_count = op_type == std::string("StringSplit") ? 2 : 1;
        cases.push_back(exact(std::move(op_case)));
    };
    const CaseInput row = given_input<std::string>({1, 5}, {"x", "", "y", "é", "z z"});
    const CaseInput column =
        given_input<std::string>({2, 1}, {"-", "a long text of two dozen bytes"});
    add("StringConcat", "same", {given_texts(), given_texts()});
    add("StringConcat", "row", {given_texts(), row});
    add("StringConcat", "column_first", {column, given_texts()});
    add("StringConcat", "outer", {row, column});
    add("StringConcat", "scalars",
        {given_input<std::string>({}, {"a"}), given_input<std::string>({}, {"b"})});
    add("StringConcat", "empty", {given_input<std::string>({0, 5}, {}), row});

    add("StringSplit", "white_space", {given_texts()});
    add("StringSplit", "white_space_1", {given_texts()}, {{"maxsplit", int64_t{1}}});
    add("StringSplit", "white_space_0", {given_texts()}, {{"maxsplit", int64_t{0}}});
    add("StringSplit", "commas", {given_texts()}, {{"delimiter", std::string(",")}});
    add("StringSplit", "commas_2", {given_texts()},
        {{"delimiter", std::string(",")}, {"maxsplit", int64_t{2}}});
    add("StringSplit", "two_bytes", {given_texts()}, {{"delimiter", std::string("wo")}});
    add("StringSplit", "scalar", {given_input<std::string>({}, {"a b"})});
    add("StringSplit", "none", {given_input<std::string>({3, 0}, {})});
    add("StringSplit", "no_pieces", {given_input<std::string>({2}, {"", " "})});

    for (const char* pattern : {R"(www\.[\w.-]+\.\bcom\b)", "(?i)[A-Z é]*", "(a|,|b)*", ".{0,9}",
                                "(?s).*", "", R"(\C.*)"}) {
        add("RegexFullMatch", "pattern_" + std::to_string(cases.size()), {given_texts()},
            {{"pattern", std::string(pattern)}});
    }
    add("RegexFullMatch", "empty", {given_input<std::string>({0}, {})},
        {{"pattern", std::string("a")}});
    CaseInput many = random_input({9, 31}, DType::kString, -200, 200);
    add("RegexFullMatch", "many", {std::move(many)}, {{"pattern", std::string("-?(1|.5)+")}});
    return cases;
}

}  // namespace leat::testing

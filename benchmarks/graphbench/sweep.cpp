#include "sweep.h"

#include "base/error.h"
#include "base/files/text_file.h"
#include "options.h"

namespace leat::bench {
namespace {

// "1x{2,3}x4" -> "1x2x4", "1x3x4"; braces may occur several times.
std::vector<std::string> alternatives_of(const std::string& text) {
    size_t open = text.find('{');
    size_t close = text.find('}', open);
    if (open == std::string::npos || close == std::string::npos) {
        return {text};
    }
    std::vector<std::string> all;
    for (const std::string& one : parts_of(text.substr(open + 1, close - open - 1), ',')) {
        const std::vector<std::string> deeper =
            alternatives_of(text.substr(0, open) + one + text.substr(close + 1));
        all.insert(all.end(), deeper.begin(), deeper.end());
    }
    return all;
}

// Each case with each alternative of one more --shape.
Result<std::vector<SweepCase>> multiply_cases(const std::vector<SweepCase>& cases,
                                              const std::string& text) {
    const auto [name, value] = split_assignment(text);
    const std::vector<std::string> alternatives = alternatives_of(value);
    std::vector<SweepCase> product;
    product.reserve(cases.size() * alternatives.size());
    for (const SweepCase& base : cases) {
        for (const std::string& alternative : alternatives) {
            const Result<Shape> shape = parse_shape(alternative);
            if (!shape.ok()) {
                return invalid_argument("--shape {}: {}", text, shape.error().text());
            }
            product.push_back(base);
            product.back().shapes[name] = *shape;
            if (alternatives.size() > 1) {
                product.back().label += fmt::format(" {}={}", name, alternative);
            }
        }
    }
    return product;
}

}  // namespace

std::pair<std::string, std::string> split_assignment(const std::string& text) {
    size_t equals = text.rfind('=');
    if (equals == std::string::npos) {
        return {text, ""};
    }
    return {text.substr(0, equals), text.substr(equals + 1)};
}

Result<Shape> parse_shape(const std::string& text) {
    std::vector<int64_t> extents;
    if (text.empty()) {
        return invalid_argument(
            "the shape is empty; needed: extents such as 1x3x224x224, or scalar");
    }
    for (const std::string& word : split(text == "scalar" ? "" : text, 'x')) {
        std::optional<int64_t> extent = parse_integer(word);
        if (!extent) {
            return invalid_argument("shape '{}'; needed: extents such as 1x3x224x224, or scalar",
                                    text);
        }
        extents.push_back(*extent);
    }
    std::optional<Shape> shape = Shape::make(extents);
    if (!shape) {
        return invalid_argument("shape '{}': rank above {} or too many elements", text, kMaxRank);
    }
    return *shape;
}

Result<std::vector<SweepCase>> sweep_cases(const std::vector<std::string>& shapes) {
    std::vector<SweepCase> cases(1);
    for (const std::string& text : shapes) {
        LEAT_ASSIGN_OR_RETURN(cases, multiply_cases(cases, text));
    }
    return cases;
}

}  // namespace leat::bench

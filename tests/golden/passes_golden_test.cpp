// Each file of this folder holds the passes to run, a graph before them and the same graph after
// them.
//
//     passes: identity
//     graph "g" (...) -> (...) { ... }
//     ----
//     graph "g" (...) -> (...) { ... }
//
// LEAT_UPDATE_GOLDEN=1 in the environment writes what the passes give now into the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "graph/text.h"
#include "graph/verify.h"
#include "passes/pass.h"
#include "passes/pipeline.h"

namespace leat {
namespace {

constexpr const char* kSeparator = "----\n";

struct NamedPass {
    std::string_view name;
    Pass pass;
};
constexpr NamedPass kPasses[] = {
    {"constant_folding", fold_constants},
    {"shape_arithmetic", simplify_shape_arithmetic},
    {"identity", remove_identities},
    {"common_subexpressions", eliminate_common_subexpressions},
    {"decomposed_operators", fuse_decomposed_operators},
    {"batch_norm_folding", fold_batch_norm},
    {"sibling_picks", group_sibling_picks},
    {"epilogue_fusion", fuse_epilogues},
    {"layout", assign_layouts},
};

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

// The lines of both texts, those that differ marked with - and +; a longest common subsequence.
std::string diff(const std::string& expected, const std::string& actual) {
    const std::vector<std::string> a = lines_of(expected);
    const std::vector<std::string> b = lines_of(actual);
    std::vector<std::vector<int>> common(a.size() + 1, std::vector<int>(b.size() + 1, 0));
    for (size_t i = a.size(); i-- > 0;) {
        for (size_t j = b.size(); j-- > 0;) {
            common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1
                                        : std::max(common[i + 1][j], common[i][j + 1]);
        }
    }
    std::string out;
    size_t i = 0;
    size_t j = 0;
    while (i < a.size() || j < b.size()) {
        if (i < a.size() && j < b.size() && a[i] == b[j]) {
            out += "  " + a[i++] + "\n";
            ++j;
        } else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1])) {
            out += "- " + a[i++] + "\n";
        } else {
            out += "+ " + b[j++] + "\n";
        }
    }
    return out;
}

Status run_pass(GraphData& graph, Pass pass) {
    PassContext context;
    graph.compact();
    LEAT_ASSIGN_OR_RETURN(context.facts, infer_graph(graph, {}, {}));
    LEAT_ASSIGN_OR_RETURN(const bool changed, pass(graph, context));
    EXPECT_EQ(changed, !context.detail.empty());
    graph.compact();
    return {};
}

Status run_named(GraphData& graph, const std::string& names) {
    std::istringstream stream(names);
    for (std::string name; stream >> name;) {
        if (name == "all") {
            std::vector<PassReport> reports;
            LEAT_RETURN_IF_ERROR(run_passes(graph, {}, reports));
            continue;
        }
        const auto* found = std::find_if(std::begin(kPasses), std::end(kPasses),
                                         [&](const NamedPass& pass) { return pass.name == name; });
        if (found == std::end(kPasses)) {
            return not_found("no pass is named '{}'", name);
        }
        LEAT_RETURN_IF_ERROR(run_pass(graph, found->pass));
    }
    return {};
}

class Golden : public ::testing::TestWithParam<const char*> {};

TEST_P(Golden, AfterThePasses) {
    const std::string path = std::string(LEAT_GOLDEN_DIR) + "/" + GetParam() + ".txt";
    const std::string text = read_file(path);
    const size_t header_end = text.find('\n');
    const size_t separator = text.find(kSeparator);
    ASSERT_EQ(text.rfind("passes: ", 0), 0U) << path << " must begin with 'passes: '";
    const std::string before = text.substr(header_end + 1, separator - header_end - 1);

    Result<Graph> graph = parse_graph(before);
    ASSERT_TRUE(graph.ok()) << path << ": " << graph.error().message();
    const Status verified = graph->verify();
    ASSERT_TRUE(verified.ok()) << path << ": " << verified.message();
    const Status status = run_named(
        graph->data(), text.substr(sizeof("passes: ") - 1, header_end - sizeof("passes: ") + 1));
    ASSERT_TRUE(status.ok()) << path << ": " << status.message();
    const std::string after = graph->to_text();
    const Result<std::vector<ValueFact>> facts = infer_graph(graph->data(), {}, {});
    EXPECT_TRUE(facts.ok()) << facts.error().message();

    if (std::getenv("LEAT_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path) << text.substr(0, header_end + 1) << before << kSeparator << after;
        return;
    }
    const std::string expected =
        separator == std::string::npos ? "" : text.substr(separator + std::strlen(kSeparator));
    EXPECT_EQ(after, expected) << path << "; - expected, + found:\n" << diff(expected, after);
}

constexpr const char* kFiles[] = {
    "constant_folding",
    "shape_arithmetic_lists",
    "shape_arithmetic_reshape",
    "shape_arithmetic_constants",
    "identity",
    "identity_cast_like",
    "identity_views",
    "common_subexpressions",
    "decomposed_layer_norm",
    "decomposed_gelu",
    "decomposed_swish",
    "decomposed_global_average",
    "batch_norm_folding",
    "batch_norm_folding_arithmetic",
    "batch_norm_folding_into_norm",
    "sibling_picks",
    "epilogue_fusion_conv",
    "epilogue_fusion_matmul",
    "layout_conv_chain",
    "layout_residual",
    "layout_mixed",
    "layout_transpose",
    "layout_product",
    "all_attention",
};
INSTANTIATE_TEST_SUITE_P(Passes, Golden, ::testing::ValuesIn(kFiles), [](const auto& info) {
    return std::string(info.param);
});

}  // namespace
}  // namespace leat

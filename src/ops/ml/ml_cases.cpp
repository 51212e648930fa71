#include <limits>

#include "conformance/case_inputs.h"

namespace leat::testing {
namespace {

using Texts = std::vector<std::string>;
using Floats = std::vector<float>;

CaseInput ml_input(Shape shape, DType dtype = DType::kFloat32) {
    return random_input(shape, dtype, -3, 4);
}

Tensor list_tensor(const Floats& values) {
    return *Tensor::from<float>({int64_t(values.size())}, values);
}

// Two trees of three features. Node 1 of the first tests for members.
Attributes two_trees(int64_t aggregate, int64_t post) {
    const std::vector<uint8_t> modes = {0, 6, 3, 5};
    return {{"aggregate_function", aggregate},
            {"post_transform", post},
            {"n_targets", int64_t{2}},
            {"tree_roots", Ints{0, 3}},
            {"nodes_modes", *Tensor::from<uint8_t>({4}, modes)},
            {"nodes_splits", list_tensor({0.5F, 0, 1, 2})},
            {"nodes_featureids", Ints{0, 1, 2, 1}},
            {"nodes_truenodeids", Ints{1, 0, 2, 3}},
            {"nodes_trueleafs", Ints{0, 1, 1, 1}},
            {"nodes_falsenodeids", Ints{2, 1, 0, 4}},
            {"nodes_falseleafs", Ints{0, 1, 1, 1}},
            {"nodes_missing_value_tracks_true", Ints{1, 1, 0, 0}},
            {"leaf_targetids", Ints{0, 1, 0, 1, 0}},
            {"leaf_weights", list_tensor({1, -2, 0.25F, 3, 0.5F})},
            {"membership_values", list_tensor({2, -1, std::numeric_limits<float>::quiet_NaN()})}};
}

// A tree of one test and two leaves, with votes of `prefix`.
Attributes older_tree(const std::string& prefix, const Ints& targets, const Floats& weights) {
    return {{"nodes_treeids", Ints{0, 0, 0}},
            {"nodes_nodeids", Ints{0, 1, 2}},
            {"nodes_featureids", Ints{1, 0, 0}},
            {"nodes_values", Floats{0.5F, 0, 0}},
            {"nodes_modes", Texts{"BRANCH_LT", "LEAF", "LEAF"}},
            {"nodes_truenodeids", Ints{1, 0, 0}},
            {"nodes_falsenodeids", Ints{2, 0, 0}},
            {prefix + "_treeids", Ints(targets.size(), 0)},
            {prefix + "_nodeids", targets.size() == 2 ? Ints{1, 2} : Ints{1, 1, 2, 2}},
            {prefix + "_ids", targets},
            {prefix + "_weights", weights}};
}

void add_encoders(std::vector<OpCase>& cases) {
    const auto add = [&cases](const std::string& name, CaseInput x, Attributes attributes) {
        cases.push_back(exact(
            make_case("ai.onnx.ml.LabelEncoder", name, {std::move(x)}, std::move(attributes))));
    };
    const CaseInput words = given_input<std::string>({2, 3}, {"a", "", "b", "q", "a", "bb"});
    const Texts keys = {"a", "b", ""};
    add("strings_to_ints", words, {{"keys_strings", keys}, {"values_int64s", Ints{5, 6, 7}}});
    add("strings_to_floats", words,
        {{"keys_strings", keys}, {"values_floats", Floats{0.5F, -1, 2}}, {"default_float", 9.5F}});
    add("strings_to_strings", words, {{"keys_strings", keys}, {"values_strings", Texts(3, "x")}});
    add("floats_to_strings", given_input<float>({3}, {-0.0F, 1.5F, 7}),
        {{"keys_floats", Floats{0, 1.5F}}, {"values_strings", Texts{"zero", "more"}}});
    add("tensors", ml_input({4000}, DType::kInt32),
        {{"keys_tensor", *Tensor::from<int32_t>({3}, std::vector<int32_t>{1, -1, 1})},
         {"values_tensor", *Tensor::from<double>({3}, std::vector<double>{1, 2, 3})}});
    add("first_version", words, {{"classes_strings", keys}});
    add("first_version_back", ml_input({7}, DType::kInt64), {{"classes_strings", keys}});
    cases.push_back(exact(make_case("ai.onnx.ml.CategoryMapper", "strings", {words},
                                    {{"cats_strings", keys}, {"cats_int64s", Ints{3, 2, 1}}})));
}

void add_trees(std::vector<OpCase>& cases) {
    for (const int64_t aggregate : {0, 1, 2, 3}) {
        for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kFloat16}) {
            cases.push_back(
                make_case("ai.onnx.ml.TreeEnsemble",
                          std::string(name_of(dtype)) + "_aggregate_" + std::to_string(aggregate),
                          {ml_input({37, 3}, dtype)}, two_trees(aggregate, aggregate)));
        }
    }
    cases.push_back(
        make_case("ai.onnx.ml.TreeEnsemble", "many_rows", {ml_input({900, 3})}, two_trees(1, 0)));
    cases.push_back(
        make_case("ai.onnx.ml.TreeEnsemble", "no_rows", {ml_input({0, 3})}, two_trees(1, 0)));
    Attributes targets = older_tree("target", {0, 1}, {2, 3});
    targets.emplace("n_targets", int64_t{2});
    targets.emplace("base_values", Floats{0.5F, -1});
    cases.push_back(make_case("ai.onnx.ml.TreeEnsembleRegressor", "base_values",
                              {ml_input({9, 2}, DType::kInt64)}, std::move(targets)));
    const auto add = [&cases](const std::string& name, Attributes attributes) {
        cases.push_back(make_case("ai.onnx.ml.TreeEnsembleClassifier", name, {ml_input({9, 2})},
                                  std::move(attributes)));
        cases.back().output_count = 2;
    };
    for (const char* post : {"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"}) {
        Attributes one = older_tree("class", {0, 0}, {0.25F, 0.75F});
        one.emplace("classlabels_strings", Texts{"no", "yes"});
        one.emplace("post_transform", std::string(post));
        add(std::string("one_vote_") + post, std::move(one));
        Attributes several = older_tree("class", {0, 2, 1, 2}, {-1, 2, 3, 0.5F});
        several.emplace("classlabels_int64s", Ints{10, 11, 12});
        several.emplace("post_transform", std::string(post));
        add(std::string("classes_") + post, std::move(several));
    }
}

void add_models(std::vector<OpCase>& cases) {
    const auto add = [&cases](const std::string& op_type, const std::string& name, int outputs,
                              Attributes attributes) {
        cases.push_back(
            make_case("ai.onnx.ml." + op_type, name, {ml_input({9, 2})}, std::move(attributes)));
        cases.back().output_count = outputs;
    };
    const Attributes rows = {{"coefficients", Floats{0.5F, -1, 2, 0.25F}},
                             {"intercepts", Floats{0.5F, -1}}};
    const Attributes row = {{"coefficients", Floats{0.5F, -1}}, {"intercepts", Floats{0.5F}}};
    const Attributes vectors = {{"support_vectors", Floats{0.5F, 1, -1, 0, 2, 0.25F}},
                                {"coefficients", Floats{0.5F, -1, 0.75F}},
                                {"kernel_params", Floats{0.25F, 0.5F, 2}},
                                {"rho", Floats{0.125F}}};
    const auto with = [](Attributes attributes, const Attributes& more) {
        attributes.insert(more.begin(), more.end());
        return attributes;
    };
    const Attributes labels = {{"classlabels_ints", Ints{7, 9}}};
    for (const char* post : {"NONE", "LOGISTIC", "SOFTMAX"}) {
        const Attributes last = {{"post_transform", std::string(post)}};
        add("LinearRegressor", post, 1, with(with(rows, {{"targets", int64_t{2}}}), last));
        add("LinearClassifier", std::string(post) + "_rows", 2, with(with(rows, labels), last));
        add("LinearClassifier", std::string(post) + "_row", 2, with(with(row, labels), last));
    }
    for (const char* kernel : {"LINEAR", "POLY", "RBF", "SIGMOID"}) {
        const Attributes own = with(vectors, {{"kernel_type", std::string(kernel)}});
        add("SVMRegressor", kernel, 1, with(own, {{"n_supports", int64_t{3}}}));
        const Attributes classes = with(with(own, labels), {{"vectors_per_class", Ints{2, 1}}});
        add("SVMClassifier", kernel, 2, classes);
        add("SVMClassifier", std::string(kernel) + "_probabilities", 2,
            with(classes, {{"prob_a", Floats{-1.5F}}, {"prob_b", Floats{0.25F}}}));
    }
}

}  // namespace

std::vector<OpCase> ml_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& op_type, const std::string& name,
                              std::vector<CaseInput> inputs, Attributes attributes = {}) {
        cases.push_back(
            make_case("ai.onnx.ml." + op_type, name, std::move(inputs), std::move(attributes)));
    };
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32}) {
        const std::string name(name_of(dtype));
        add("ArrayFeatureExtractor", name,
            {ml_input({2, 3, 5}, dtype), given_input<int64_t>({1, 4}, {4, 0, 0, 2})});
        add("Binarizer", name, {ml_input({3, 5}, dtype)}, {{"threshold", 0.5F}});
        add("Scaler", name, {ml_input({3, 4}, dtype)},
            {{"offset", Floats{1, 2, -1, 0.5F}}, {"scale", Floats{0.5F}}});
        for (const char* norm : {"MAX", "L1", "L2"}) {
            add("Normalizer", name + "_" + norm, {ml_input({5, 3}, dtype)},
                {{"norm", std::string(norm)}});
        }
        add("Imputer", name, {ml_input({4, 3}, dtype)},
            {{"imputed_value_floats", Floats{7, 8, 9}},
             {"imputed_value_int64s", Ints{7}},
             {"replaced_value_int64", int64_t{-1}}});
        add("OneHotEncoder", name, {ml_input({4, 3}, dtype)}, {{"cats_int64s", Ints{1, 2, -1}}});
        add("FeatureVectorizer", name, {ml_input({4, 3}, dtype), ml_input({4, 2}, dtype)},
            {{"inputdimensions", Ints{2, 4}}});
    }
    add("ArrayFeatureExtractor", "line", {ml_input({5}), given_input<int64_t>({2}, {4, 1})});
    add("ArrayFeatureExtractor", "none", {ml_input({2, 5}), given_input<int64_t>({0}, {})});
    add("OneHotEncoder", "strings", {given_input<std::string>({3}, {"a", "b", "c"})},
        {{"cats_strings", Texts{"b", "c"}}});
    add("Normalizer", "zeros", {random_input({2, 3}, DType::kFloat32, 0, 0)});
    add("Normalizer", "no_columns", {ml_input({2, 0})});
    add_encoders(cases);
    add_trees(cases);
    add_models(cases);
    return cases;
}

}  // namespace leat::testing

#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

struct LossCase {
    std::string name;
    Shape scores;
    bool has_weights = false;
    const char* reduction = "mean";
    // -1 where there is no such attribute; labels with this number are among the others.
    int64_t ignored = -1;
    DType dtype = DType::kFloat32;
    DType labels = DType::kInt64;
};

// Every fourth label is the one that is ignored, the others are classes.
CaseInput loss_labels(const LossCase& loss) {
    Shape shape;
    for (int axis = 0; axis < loss.scores.rank(); ++axis) {
        if (axis != 1) {
            shape.append(loss.scores[axis]);
        }
    }
    const int64_t classes = loss.scores[1];
    std::vector<int64_t> labels;
    labels.reserve(size_t(shape.element_count()));
    for (int64_t i = 0; i < shape.element_count(); ++i) {
        const bool is_ignored = loss.ignored != -1 && i % 4 == 1;
        labels.push_back(is_ignored ? loss.ignored : (i * 7 + 2) % classes);
    }
    if (loss.labels == DType::kInt32) {
        return given_input<int32_t>(shape, {labels.begin(), labels.end()});
    }
    return given_input<int64_t>(shape, labels);
}

void add_losses(std::vector<OpCase>& cases, const LossCase& loss) {
    Attributes attributes = {{"reduction", std::string(loss.reduction)}};
    if (loss.ignored != -1) {
        attributes.emplace("ignore_index", loss.ignored);
    }
    std::vector<CaseInput> inputs = {random_input(loss.scores, loss.dtype), loss_labels(loss)};
    if (loss.has_weights) {
        inputs.push_back(random_input({loss.scores[1]}, loss.dtype, 0.5, 2));
    }
    cases.push_back(make_case("NegativeLogLikelihoodLoss", loss.name, inputs, attributes));
    cases.push_back(make_case("SoftmaxCrossEntropyLoss", loss.name, inputs, attributes));
    OpCase both = make_case("SoftmaxCrossEntropyLoss", loss.name + "_log_prob", inputs, attributes);
    both.output_count = 2;
    cases.push_back(std::move(both));
}

}  // namespace

std::vector<OpCase> cross_entropy_cases() {
    std::vector<OpCase> cases;
    for (const DType dtype :
         {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
        const std::string name(name_of(dtype));
        add_losses(cases, {name, {3, 5, 4}, true, "mean", 2, dtype});
        add_losses(cases, {name + "_none", {3, 5, 4}, false, "none", -1, dtype});
    }
    for (const char* reduction : {"none", "sum", "mean"}) {
        const std::string name(reduction);
        add_losses(cases, {name + "_matrix", {4, 6}, false, reduction});
        add_losses(cases, {name + "_images", {2, 5, 3, 4}, false, reduction});
        add_losses(cases, {name + "_weights", {2, 5, 3, 4}, true, reduction});
        add_losses(cases, {name + "_ignored", {2, 5, 3, 4}, false, reduction, 3});
        add_losses(cases, {name + "_both", {2, 5, 3, 4}, true, reduction, 0});
        add_losses(cases, {name + "_ignored_beyond", {2, 5, 7}, true, reduction, 100});
        add_losses(cases, {name + "_ignored_below", {2, 5, 7}, false, reduction, -5});
        add_losses(cases,
                   {name + "_i32", {6, 4}, true, reduction, 1, DType::kFloat32, DType::kInt32});
    }
    add_losses(cases, {"no_samples", {0, 5}, true, "sum"});
    add_losses(cases, {"no_samples_none", {0, 5, 2}, false, "none"});
    add_losses(cases, {"no_samples_mean", {0, 5}, false, "mean"});
    add_losses(cases, {"rank8", {1, 3, 2, 1, 2, 1, 2, 1}, true, "mean"});
    return cases;
}

}  // namespace leat::testing

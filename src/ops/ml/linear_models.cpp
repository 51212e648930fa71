#include "ops/ml/linear_models.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "base/out_of_memory.h"
#include "ops/ml/ml.h"
#include "ops/ml/scores.h"
#include "ops/movement/extents.h"

namespace leat {
namespace {

std::span<const float> floats_of(const NodeData& node, const char* key) {
    const std::vector<float>* const given = node.floats(key);
    return given == nullptr ? std::span<const float>() : std::span<const float>(*given);
}

// Row `row` of x with one of `features` numbers.
double dot(const TensorArg& x, int64_t row, const float* numbers, int64_t features) {
    double sum = 0;
    for (int64_t f = 0; f < features; ++f) {
        sum += load_ml(x, row * features + f) * double(numbers[f]);
    }
    return sum;
}

int64_t row_count(const Shape& x) {
    return x.rank() == 1 ? 1 : x[0];
}

struct ModelLabels {
    const std::vector<std::string>* strings = nullptr;  // null: ints
    const std::vector<int64_t>* ints = nullptr;
    int64_t count() const {
        return strings != nullptr ? int64_t(strings->size()) : int64_t(ints->size());
    }
};

Result<ModelLabels> labels_of(const NodeData& node) {
    ModelLabels labels{node.strings("classlabels_strings"), node.ints("classlabels_ints")};
    if (labels.strings != nullptr && labels.strings->empty()) {
        labels.strings = nullptr;
    }
    if (labels.ints != nullptr && labels.ints->empty()) {
        labels.ints = nullptr;
    }
    if ((labels.strings == nullptr) == (labels.ints == nullptr)) {
        return invalid_argument(
                   "the node needs one of attributes classlabels_strings and classlabels_ints")
            .with_found(labels.ints != nullptr ? "both" : "none with elements");
    }
    return labels;
}

void store_model_label(const ModelLabels& labels, const TensorArg& y, int64_t row, int64_t label) {
    if (!y.present()) {
        return;
    }
    if (labels.strings != nullptr) {
        y.as<std::string>()[row] = (*labels.strings)[size_t(label)];
    } else {
        y.as<int64_t>()[row] = (*labels.ints)[size_t(label)];
    }
}

void store_scores(const TensorArg* z, int64_t row, const std::vector<double>& scores) {
    for (size_t i = 0; z != nullptr && i < scores.size(); ++i) {
        z->as<float>()[row * int64_t(scores.size()) + int64_t(i)] = float(scores[i]);
    }
}

int64_t largest(const std::vector<double>& scores) {
    return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

// Rows of coefficients, and columns of the result.
struct LinearForm {
    bool is_classifier = false;
    int64_t rows = 1;
    int64_t columns = 1;
    PostTransform post = PostTransform::kNone;
    std::span<const float> coefficients;
    std::span<const float> intercepts;
};

Result<LinearForm> linear_form(const NodeData& node) {
    LinearForm form;
    form.is_classifier = node.op_type == "LinearClassifier";
    LEAT_ASSIGN_OR_RETURN(form.post, post_transform_of(node));
    form.coefficients = floats_of(node, "coefficients");
    form.intercepts = floats_of(node, "intercepts");
    if (form.is_classifier) {
        LEAT_ASSIGN_OR_RETURN(const ModelLabels labels, labels_of(node));
        form.columns = labels.count();
        const bool is_single = form.columns == 2 && form.intercepts.size() == 1;
        form.rows = is_single ? 1 : form.columns;
    } else {
        form.rows = form.columns = node.attr("targets", int64_t{1});
    }
    const auto count = int64_t(form.coefficients.size());
    if (form.rows < 1 || count == 0 || count % form.rows != 0) {
        return invalid_argument("attribute coefficients has a wrong number of elements")
            .with_found(std::to_string(count))
            .with_needed(fmt::format("as many for each of {} rows", form.rows));
    }
    if (!form.intercepts.empty() && int64_t(form.intercepts.size()) != form.rows) {
        return invalid_argument("attribute intercepts has a wrong number of elements")
            .with_found(std::to_string(form.intercepts.size()))
            .with_needed(std::to_string(form.rows));
    }
    return form;
}

// One score for two classes: the label, and two scores.
int64_t split_score(PostTransform post, std::vector<double>& scores) {
    const double score = scores[0];
    const bool is_logistic = post == PostTransform::kLogistic;
    scores = {is_logistic ? -score : 1 - score, score};
    if (is_logistic || post == PostTransform::kProbit) {
        transform_scores(post, scores.data(), 2);
    }
    return score > 0 ? 1 : 0;
}

Status run_linear_model(const ReferenceArgs& args) {
    LEAT_ASSIGN_OR_RETURN(const LinearForm form, linear_form(args.node));
    ModelLabels labels;
    if (form.is_classifier) {
        LEAT_ASSIGN_OR_RETURN(labels, labels_of(args.node));
    }
    const TensorArg& x = args.inputs[0];
    const int64_t features = int64_t(form.coefficients.size()) / form.rows;
    for (int64_t row = 0; row < row_count(x.shape); ++row) {
        std::vector<double> scores(size_t(form.rows));
        for (int64_t r = 0; r < form.rows; ++r) {
            const double intercept =
                form.intercepts.empty() ? 0 : double(form.intercepts[size_t(r)]);
            scores[size_t(r)] =
                dot(x, row, form.coefficients.data() + r * features, features) + intercept;
        }
        int64_t label = largest(scores);
        if (form.rows < form.columns) {
            label = split_score(form.post, scores);
        } else {
            transform_scores(form.post, scores.data(), form.rows);
        }
        store_scores(find_arg(args.outputs, form.is_classifier ? 1 : 0), row, scores);
        if (form.is_classifier) {
            store_model_label(labels, args.outputs[0], row, label);
        }
    }
    return {};
}

enum class SvmKernel : uint8_t { kLinear, kPoly, kRbf, kSigmoid };

struct SvmForm {
    bool is_classifier = false;
    SvmKernel kernel = SvmKernel::kLinear;
    PostTransform post = PostTransform::kNone;
    double gamma = 0;
    double offset = 0;
    double degree = 0;
    int64_t vectors = 0;   // 0: linear
    int64_t features = 0;  // of a row
    int64_t classes = 1;
    int64_t columns = 1;  // scores
    std::span<const float> coefficients;
    std::span<const float> support;
    std::span<const float> rho;
    std::span<const float> prob_a;
    std::span<const float> prob_b;
    std::vector<int64_t> first;  // by class: its first vector, and behind the last one

    int64_t pairs() const { return classes * (classes - 1) / 2; }
};

Result<SvmKernel> svm_kernel(const NodeData& node) {
    static constexpr const char* kNames[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    const std::string name = node.attr("kernel_type", "LINEAR");
    for (int i = 0; i < 4; ++i) {
        if (name == kNames[i]) {
            return SvmKernel(i);
        }
    }
    return invalid_argument("attribute kernel_type has no such value")
        .with_found("'" + name + "'")
        .with_needed("LINEAR, POLY, RBF or SIGMOID");
}

Status need_count(const char* key, size_t found, int64_t needed) {
    if (int64_t(found) < needed) {
        return invalid_argument("attribute {} has too few elements", key)
            .with_found(std::to_string(found))
            .with_needed(std::to_string(needed));
    }
    return {};
}

Status read_classes(const NodeData& node, SvmForm& form) {
    LEAT_ASSIGN_OR_RETURN(const ModelLabels labels, labels_of(node));
    form.classes = labels.count();
    constexpr int64_t kMostClasses = int64_t{1} << 20;
    const std::vector<int64_t>* const counts = node.ints("vectors_per_class");
    form.first = {0};
    for (size_t c = 0; counts != nullptr && c < counts->size(); ++c) {
        const int64_t count = (*counts)[c];
        if (count < 0 || count > int64_t(form.support.size())) {
            return invalid_argument("attribute vectors_per_class has a wrong element")
                .with_found(std::to_string(count));
        }
        form.first.push_back(form.first.back() + count);
    }
    form.vectors = form.first.back();
    const bool is_wrong = form.vectors > 0 && int64_t(form.first.size()) != form.classes + 1;
    if (form.classes > kMostClasses || is_wrong) {
        return invalid_argument("attribute vectors_per_class has a wrong number of elements")
            .with_found(std::to_string(form.first.size() - 1))
            .with_needed(fmt::format("{}: one for each label", form.classes));
    }
    return {};
}

Status check_classifier(SvmForm& form) {
    if (form.vectors == 0) {
        form.features = int64_t(form.coefficients.size()) / form.classes;
        form.columns = form.classes;
        return need_count("rho", form.rho.size(), 1);
    }
    LEAT_RETURN_IF_ERROR(
        need_count("coefficients", form.coefficients.size(), (form.classes - 1) * form.vectors));
    LEAT_RETURN_IF_ERROR(need_count("rho", form.rho.size(), form.pairs()));
    if (!form.prob_a.empty()) {
        LEAT_RETURN_IF_ERROR(need_count("prob_a", form.prob_a.size(), form.pairs()));
        LEAT_RETURN_IF_ERROR(need_count("prob_b", form.prob_b.size(), form.pairs()));
    }
    form.columns = !form.prob_a.empty() || form.classes == 2 ? form.classes : form.pairs();
    return {};
}

Result<SvmForm> svm_form(const NodeData& node) {
    SvmForm form;
    form.is_classifier = node.op_type == "SVMClassifier";
    LEAT_ASSIGN_OR_RETURN(form.kernel, svm_kernel(node));
    LEAT_ASSIGN_OR_RETURN(form.post, post_transform_of(node));
    form.coefficients = floats_of(node, "coefficients");
    form.support = floats_of(node, "support_vectors");
    form.rho = floats_of(node, "rho");
    form.prob_a = floats_of(node, "prob_a");
    form.prob_b = floats_of(node, "prob_b");
    if (const auto parameters = floats_of(node, "kernel_params"); parameters.size() >= 3) {
        form.gamma = double(parameters[0]);
        form.offset = double(parameters[1]);
        form.degree = double(parameters[2]);
    }
    if (form.is_classifier) {
        LEAT_RETURN_IF_ERROR(read_classes(node, form));
    } else {
        form.vectors = node.attr("n_supports", int64_t{0});
    }
    if (form.vectors < 0 || form.vectors > int64_t(form.support.size())) {
        return invalid_argument("there are too few support vectors")
            .with_found(fmt::format("{} numbers", form.support.size()))
            .with_needed(fmt::format("those of {} vectors", form.vectors));
    }
    if (form.vectors > 0) {
        form.features = int64_t(form.support.size()) / form.vectors;
    }
    if (form.is_classifier) {
        LEAT_RETURN_IF_ERROR(check_classifier(form));
    } else {
        if (form.vectors == 0) {
            form.features = int64_t(form.coefficients.size());
        }
        LEAT_RETURN_IF_ERROR(need_count("coefficients", form.coefficients.size(), form.vectors));
        LEAT_RETURN_IF_ERROR(need_count("rho", form.rho.size(), 1));
    }
    if (form.features < 1) {
        return invalid_argument("attribute coefficients has too few elements")
            .with_found(std::to_string(form.coefficients.size()));
    }
    return form;
}

double svm_kernel_value(const SvmForm& form, const TensorArg& x, int64_t row, int64_t vector) {
    const float* const support = form.support.data() + vector * form.features;
    if (form.kernel == SvmKernel::kRbf) {
        double distance = 0;
        for (int64_t f = 0; f < form.features; ++f) {
            const double apart = load_ml(x, row * form.features + f) - double(support[f]);
            distance += apart * apart;
        }
        return std::exp(-form.gamma * distance);
    }
    const double product = dot(x, row, support, form.features);
    switch (form.kernel) {
        case SvmKernel::kPoly:
            return std::pow(form.gamma * product + form.offset, form.degree);
        case SvmKernel::kSigmoid:
            return std::tanh(form.gamma * product + form.offset);
        default:
            return product;
    }
}

// pairwise[i, j]: how probable class i is if it is i or j. The classes' probabilities.
std::vector<double> couple(const std::vector<double>& pairwise, size_t k) {
    const auto r = [&](size_t i, size_t j) { return pairwise[i * k + j]; };
    std::vector<double> q(k * k);
    for (size_t t = 0; t < k; ++t) {
        for (size_t j = 0; j < k; ++j) {
            if (j != t) {
                q[t * k + t] += r(j, t) * r(j, t);
                q[t * k + j] = -r(j, t) * r(t, j);
            }
        }
    }
    std::vector<double> p(k, 1 / double(k));
    const double most_error = 0.005 / double(k);
    for (size_t pass = 0; pass < std::max<size_t>(100, k); ++pass) {
        std::vector<double> qp(k);
        double pqp = 0;
        for (size_t t = 0; t < k; ++t) {
            for (size_t j = 0; j < k; ++j) {
                qp[t] += q[t * k + j] * p[j];
            }
            pqp += p[t] * qp[t];
        }
        double error = 0;
        for (size_t t = 0; t < k; ++t) {
            error = std::max(error, std::fabs(qp[t] - pqp));
        }
        if (error < most_error) {
            break;
        }
        for (size_t t = 0; t < k; ++t) {
            const double step = (pqp - qp[t]) / q[t * k + t];
            p[t] += step;
            pqp = (pqp + step * (step * q[t * k + t] + 2 * qp[t])) / ((1 + step) * (1 + step));
            for (size_t j = 0; j < k; ++j) {
                qp[j] = (qp[j] + step * q[t * k + j]) / (1 + step);
                p[j] /= 1 + step;
            }
        }
    }
    return p;
}

std::vector<double> probabilities(const SvmForm& form, const std::vector<double>& scores) {
    constexpr double kLeast = 1e-7;
    const auto k = size_t(form.classes);
    std::vector<double> pairwise(k * k);
    size_t pair = 0;
    for (size_t i = 0; i < k; ++i) {
        for (size_t j = i + 1; j < k; ++j, ++pair) {
            const double p =
                1 - logistic(scores[pair] * double(form.prob_a[pair]) + double(form.prob_b[pair]));
            pairwise[i * k + j] = std::clamp(p, kLeast, 1 - kLeast);
            pairwise[j * k + i] = 1 - pairwise[i * k + j];
        }
    }
    return couple(pairwise, k);
}

// Scores of the pairs of classes, and votes.
void score_pairs(const SvmForm& form,
                 const std::vector<double>& kernels,
                 std::vector<double>& scores,
                 std::vector<double>& votes) {
    const auto sum_of = [&](int64_t of, int64_t against) {
        const int64_t row = against < of ? against : against - 1;
        double sum = 0;
        for (int64_t v = form.first[size_t(of)]; v < form.first[size_t(of) + 1]; ++v) {
            sum += double(form.coefficients[size_t(row * form.vectors + v)]) * kernels[size_t(v)];
        }
        return sum;
    };
    for (int64_t i = 0; i < form.classes; ++i) {
        for (int64_t j = i + 1; j < form.classes; ++j) {
            const double score = double(form.rho[scores.size()]) + sum_of(i, j) + sum_of(j, i);
            scores.push_back(score);
            votes[size_t(score > 0 ? i : j)] += 1;
        }
    }
}

// The label's place; the scores of the result.
int64_t classify_by_svm(const SvmForm& form,
                        const TensorArg& x,
                        int64_t row,
                        std::vector<double>& scores) {
    if (form.vectors == 0) {
        for (int64_t c = 0; c < form.classes; ++c) {
            scores.push_back(double(form.rho[0]) + dot(x, row,
                                                       form.coefficients.data() + c * form.features,
                                                       form.features));
        }
        const int64_t label = largest(scores);
        transform_scores(form.post, scores.data(), form.classes);
        return label;
    }
    std::vector<double> kernels;
    for (int64_t v = 0; v < form.vectors; ++v) {
        kernels.push_back(svm_kernel_value(form, x, row, v));
    }
    std::vector<double> votes(size_t(form.classes));
    score_pairs(form, kernels, scores, votes);
    if (!form.prob_a.empty()) {
        scores = probabilities(form, scores);
    } else if (form.classes == 2) {
        scores = {-scores[0], scores[0]};
    }
    transform_scores(form.post, scores.data(), int64_t(scores.size()));
    return largest(votes);
}

Status run_svm(const ReferenceArgs& args) {
    LEAT_ASSIGN_OR_RETURN(const SvmForm form, svm_form(args.node));
    ModelLabels labels;
    if (form.is_classifier) {
        LEAT_ASSIGN_OR_RETURN(labels, labels_of(args.node));
    }
    const TensorArg& x = args.inputs[0];
    const bool is_one_class = args.node.attr("one_class", int64_t{0}) != 0;
    for (int64_t row = 0; row < row_count(x.shape); ++row) {
        std::vector<double> scores;
        if (form.is_classifier) {
            const int64_t label = classify_by_svm(form, x, row, scores);
            store_model_label(labels, args.outputs[0], row, label);
            store_scores(find_arg(args.outputs, 1), row, scores);
            continue;
        }
        double sum = double(form.rho[0]);
        for (int64_t v = 0; v < form.vectors; ++v) {
            sum += double(form.coefficients[size_t(v)]) * svm_kernel_value(form, x, row, v);
        }
        if (form.vectors == 0) {
            sum += dot(x, row, form.coefficients.data(), form.features);
        }
        scores = {is_one_class ? (sum > 0 ? 1.0 : -1.0) : sum};
        transform_scores(form.post, scores.data(), 1);
        store_scores(find_arg(args.outputs, 0), row, scores);
    }
    return {};
}

// Types of the results: [N, columns], of a classifier behind labels [N].
Status set_model_outputs(InferContext& context,
                         int64_t features,
                         int64_t columns,
                         bool is_classifier) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kMlReals, "X"));
    const TypeInfo& x = context.input(0);
    if (x.dims && (x.rank() < 1 || x.rank() > 2 ||
                   (x.dims->back().is_fixed() && x.dims->back().extent() != features))) {
        return invalid_argument("X has a wrong shape")
            .with_found(x.to_string())
            .with_needed(fmt::format("[N, {}] or [{}]", features, features));
    }
    const DimSpec rows = !x.dims ? DimSpec::unknown() : x.rank() == 1 ? DimSpec(1) : (*x.dims)[0];
    if (is_classifier) {
        LEAT_ASSIGN_OR_RETURN(const ModelLabels labels, labels_of(context.node()));
        context.set_output(0, labels.strings != nullptr ? DType::kString : DType::kInt64,
                           Dims{rows});
    }
    const int scores = is_classifier ? 1 : 0;
    if (context.has_output(scores)) {
        context.set_output(scores, DType::kFloat32, Dims{rows, DimSpec(columns)});
    }
    return {};
}

}  // namespace

Status infer_linear_model(InferContext& context) {
    LEAT_ASSIGN_OR_RETURN(const LinearForm form, linear_form(context.node()));
    return set_model_outputs(context, int64_t(form.coefficients.size()) / form.rows, form.columns,
                             form.is_classifier);
}

Status infer_svm(InferContext& context) {
    LEAT_ASSIGN_OR_RETURN(const SvmForm form, svm_form(context.node()));
    return set_model_outputs(context, form.features, form.columns, form.is_classifier);
}

Status linear_model_reference(const ReferenceArgs& args) {
    return catch_bad_alloc("run a linear model", [&] { return run_linear_model(args); });
}

Status svm_reference(const ReferenceArgs& args) {
    return catch_bad_alloc("run a support vector machine", [&] { return run_svm(args); });
}

}  // namespace leat

// Modifiers by reference kernels, one node at a time, on all scores at once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/out_of_memory.h"
#include "graph/bodies.h"
#include "ops/elementwise/element_access.h"
#include "ops/flex_attention/flex_attention.h"

namespace leat {
namespace {

class FlexAttention {
  public:
    explicit FlexAttention(const ReferenceArgs& args)
        : args_(args),
          heads_(args.inputs[0].shape[1]),
          key_heads_(args.inputs[1].shape[1]),
          queries_(args.inputs[0].shape[2]),
          keys_(args.inputs[1].shape[2]),
          head_size_(args.inputs[0].shape[3]),
          value_size_(args.inputs[2].shape[3]),
          rows_(args.inputs[0].shape.element_count(0, 3)) {}

    Status run() {
        LEAT_ASSIGN_OR_RETURN(const DType precision,
                              flex_attention_precision(args_.node, args_.inputs[0].dtype));
        const Shape shape{args_.inputs[0].shape[0], heads_, queries_, keys_};
        LEAT_ASSIGN_OR_RETURN(Tensor scores, Tensor::allocate(precision, shape));
        score(scores);
        LEAT_ASSIGN_OR_RETURN(scores, modified("score_mod", std::move(scores)));
        LEAT_ASSIGN_OR_RETURN(Tensor probabilities, Tensor::allocate(precision, shape));
        softmax(scores, probabilities);
        LEAT_ASSIGN_OR_RETURN(probabilities, modified("prob_mod", std::move(probabilities)));
        weigh(probabilities);
        return {};
    }

  private:
    // The first of the vectors that a row of scores reads.
    int64_t first_key(int64_t row) const {
        const int64_t line = row / queries_;  // (batch, head)
        const int64_t head = line % heads_ / (heads_ / key_heads_);
        return (line / heads_ * key_heads_ + head) * keys_;
    }

    void score(Tensor& scores) const {
        const TensorArg& q = args_.inputs[0];
        const TensorArg& k = args_.inputs[1];
        const double usual = 1 / std::sqrt(double(std::max<int64_t>(head_size_, 1)));
        const auto scale = double(args_.node.attr("scale", float(usual)));
        std::vector<double> query(size_t(head_size_), 0.0);
        for (int64_t row = 0; row < rows_; ++row) {
            for (int64_t e = 0; e < head_size_; ++e) {
                query[size_t(e)] = load_real(q.dtype, q.data, row * head_size_ + e);
            }
            const int64_t first = keys_ > 0 ? first_key(row) : 0;
            for (int64_t key = 0; key < keys_; ++key) {
                double sum = 0;
                for (int64_t e = 0; e < head_size_; ++e) {
                    sum += query[size_t(e)] *
                           load_real(k.dtype, k.data, (first + key) * head_size_ + e);
                }
                store_real(scores.dtype(), scores.mutable_bytes(), row * keys_ + key, sum * scale);
            }
        }
    }

    Result<Tensor> modified(std::string_view key, Tensor given) const {
        if (args_.node.body(key) == nullptr) {
            return given;
        }
        const Shape shape = given.shape();
        const DType dtype = given.dtype();
        std::vector<Tensor> inputs{std::move(given)};
        for (const TensorArg& arg : args_.inputs.subspan(args_.node.own_inputs())) {
            inputs.push_back(Tensor::view(arg.dtype, arg.shape, arg.data, nullptr));
        }
        LEAT_ASSIGN_OR_RETURN(std::vector<Tensor> results,
                              evaluate_body(args_.node, key, inputs, args_.stop));
        if (results[0].shape() != shape || results[0].dtype() != dtype) {
            return invalid_argument("the result of '{}' has another shape than what it is given",
                                    key)
                .with_found(results[0].shape().to_string())
                .with_needed(shape.to_string())
                .with_node(args_.node.label());
        }
        return aligned(results[0]);
    }

    void softmax(const Tensor& scores, Tensor& probabilities) const {
        const DType dtype = scores.dtype();
        std::vector<double> row(size_t(keys_), 0.0);
        for (int64_t r = 0; r < rows_; ++r) {
            double largest = -std::numeric_limits<double>::infinity();
            for (int64_t key = 0; key < keys_; ++key) {
                row[size_t(key)] = load_real(dtype, scores.bytes(), r * keys_ + key);
                largest = std::max(largest, row[size_t(key)]);
            }
            double sum = 0;
            for (double& element : row) {
                element = std::exp(element - largest);
                sum += element;
            }
            for (int64_t key = 0; key < keys_; ++key) {
                store_real(dtype, probabilities.mutable_bytes(), r * keys_ + key,
                           row[size_t(key)] / sum);
            }
        }
    }

    void weigh(const Tensor& probabilities) const {
        const TensorArg& v = args_.inputs[2];
        const TensorArg& y = args_.outputs[0];
        std::vector<double> row(size_t(value_size_), 0.0);
        for (int64_t r = 0; r < rows_ && y.present(); ++r) {
            std::fill(row.begin(), row.end(), 0.0);
            const int64_t first = keys_ > 0 ? first_key(r) : 0;
            for (int64_t key = 0; key < keys_; ++key) {
                const double weight =
                    load_real(probabilities.dtype(), probabilities.bytes(), r * keys_ + key);
                for (int64_t e = 0; e < value_size_; ++e) {
                    row[size_t(e)] +=
                        weight * load_real(v.dtype, v.data, (first + key) * value_size_ + e);
                }
            }
            for (int64_t e = 0; e < value_size_; ++e) {
                store_real(y.dtype, y.data, r * value_size_ + e, row[size_t(e)]);
            }
        }
    }

    const ReferenceArgs& args_;
    int64_t heads_;
    int64_t key_heads_;
    int64_t queries_;
    int64_t keys_;
    int64_t head_size_;
    int64_t value_size_;
    int64_t rows_;  // of scores
};

}  // namespace

Status flex_attention_reference(const ReferenceArgs& args) {
    return catch_bad_alloc("run an attention", [&] { return FlexAttention(args).run(); });
}

}  // namespace leat

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/elementwise/element_access.h"
#include "ops/movement/movement.h"

namespace leat {
namespace {

constexpr double kAttentionMasked = -std::numeric_limits<double>::infinity();

enum class AttentionScores : int64_t { kScores, kCapped, kBiased, kProbabilities };

class AttentionLoop {
  public:
    AttentionLoop(const ReferenceArgs& args, const AttentionGeometry& geometry)
        : args_(args),
          geometry_(geometry),
          mask_(find_arg(args.inputs, kAttentionMask)),
          nonpad_(find_arg(args.inputs, kAttentionNonpad)),
          shown_(find_arg(args.outputs, 3)),
          mode_(AttentionScores(args.node.attr("qk_matmul_output_mode", int64_t{0}))) {}

    void run() {
        const int64_t group =
            geometry_.key_heads > 0 ? geometry_.query_heads / geometry_.key_heads : 0;
        for (int64_t b = 0; b < geometry_.batch; ++b) {
            for (int64_t head = 0; head < geometry_.key_heads; ++head) {
                gather(b, head, kAttentionK, geometry_.k, geometry_.head_size, keys_);
                gather(b, head, kAttentionV, geometry_.v, geometry_.value_size, values_);
                for (int64_t h = head * group; h < (head + 1) * group; ++h) {
                    run_head(b, h);
                }
            }
        }
    }

  private:
    void run_head(int64_t b, int64_t h) {
        for (int64_t i = 0; i < geometry_.queries; ++i) {
            run_query(b, h, i);
        }
    }

    // Past and new vectors of a key head, as doubles and, where it is read, as the present ones.
    void gather(int64_t b,
                int64_t head,
                int input,
                const AttentionStrides& strides,
                int64_t size,
                std::vector<double>& to) {
        const bool is_key = input == kAttentionK;
        const TensorArg& now = args_.inputs[size_t(input)];
        const TensorArg* past =
            find_arg(args_.inputs, is_key ? kAttentionPastKey : kAttentionPastValue);
        const TensorArg* present = find_arg(args_.outputs, is_key ? 1 : 2);
        to.resize(size_t(geometry_.total * size));
        for (int64_t t = 0; t < geometry_.total; ++t) {
            const bool is_past = past != nullptr && t < geometry_.past;
            const TensorArg& from = is_past ? *past : now;
            const int64_t first =
                is_past ? ((b * geometry_.key_heads + head) * geometry_.past + t) * size
                        : strides.first(b, head, t - geometry_.past);
            for (int64_t e = 0; e < size; ++e) {
                to[size_t(t * size + e)] = load_real(from.dtype, from.data, first + e);
            }
            if (present != nullptr) {
                const int64_t line = (b * geometry_.key_heads + head) * geometry_.total + t;
                copy_elements(from.dtype, from.data, first, present->data, line * size, size);
            }
        }
    }

    double bias(int64_t mask_first, int64_t key) const {
        if (mask_ == nullptr) {
            return 0;
        }
        const double value =
            load_real(mask_->dtype, mask_->data, mask_first + key * geometry_.mask_strides[3]);
        return mask_->dtype != DType::kBool ? value : value != 0 ? 0 : kAttentionMasked;
    }

    double score(int64_t key) const {
        const double* vector = keys_.data() + key * geometry_.head_size;
        double sum = 0;
        for (size_t e = 0; e < query_.size(); ++e) {
            sum += query_[e] * vector[e];
        }
        return sum * double(geometry_.scale);
    }
    double capped(double score) const {
        const auto cap = double(geometry_.softcap);
        return cap > 0 ? cap * std::tanh(score / cap) : score;
    }
    void show(int64_t line, int64_t key, double value) const {
        store_real(shown_->dtype, shown_->data, line * geometry_.total + key, value);
    }

    // Scores of masked keys are -infinity.
    void score_keys(const KeyRange& range, int64_t mask_first, int64_t line) {
        const bool is_shown = shown_ != nullptr && mode_ != AttentionScores::kProbabilities;
        scores_.assign(size_t(geometry_.total), kAttentionMasked);
        for (int64_t key = is_shown ? 0 : range.begin;
             key < (is_shown ? geometry_.total : range.end); ++key) {
            const bool is_in = key >= range.begin && key < range.end;
            const double added = is_in ? bias(mask_first, key) : kAttentionMasked;
            const bool is_masked = added == kAttentionMasked;
            if (is_masked && !is_shown) {
                continue;
            }
            const double plain = score(key);
            const double limited = capped(plain);
            if (!is_masked) {
                scores_[size_t(key)] = limited + added;
            }
            if (is_shown) {
                show(line, key,
                     mode_ == AttentionScores::kScores   ? plain
                     : mode_ == AttentionScores::kCapped ? limited
                                                         : limited + added);
            }
        }
    }

    // Makes scores probabilities; all are zero where no key has a score above -infinity.
    void softmax() {
        double largest = kAttentionMasked;
        for (const double score : scores_) {
            largest = std::max(largest, score);
        }
        const double base = largest == kAttentionMasked ? 0 : largest;
        double sum = 0;
        for (double& score : scores_) {
            score = std::exp(score - base);
            sum += score;
        }
        for (double& score : scores_) {
            score = sum == 0 ? 0 : score / sum;
        }
    }

    void run_query(int64_t b, int64_t h, int64_t i) {
        const TensorArg& q = args_.inputs[kAttentionQ];
        const int64_t first = geometry_.q.first(b, h, i);
        query_.resize(size_t(geometry_.head_size));
        for (size_t e = 0; e < query_.size(); ++e) {
            query_[e] = load_real(q.dtype, q.data, first + int64_t(e));
        }
        const int64_t line = (b * geometry_.query_heads + h) * geometry_.queries + i;
        const KeyRange range = geometry_.keys_of(nonpad_, b, i);
        score_keys(range, geometry_.mask_offset(b, h, i), line);
        softmax();
        for (int64_t key = 0;
             shown_ != nullptr && mode_ == AttentionScores::kProbabilities && key < geometry_.total;
             ++key) {
            show(line, key, scores_[size_t(key)]);
        }
        if (args_.outputs[0].present()) {
            weigh_values(range, geometry_.mask_offset(b, h, i), geometry_.y.first(b, h, i));
        }
    }

    void weigh_values(const KeyRange& range, int64_t mask_first, int64_t first) {
        const TensorArg& y = args_.outputs[0];
        row_.assign(size_t(geometry_.value_size), 0.0);
        for (int64_t key = range.begin; key < range.end; ++key) {
            const double weight = scores_[size_t(key)];
            // What a masked key's value holds counts for nothing.
            if (weight == 0 && bias(mask_first, key) == kAttentionMasked) {
                continue;
            }
            const double* value = values_.data() + key * geometry_.value_size;
            for (size_t e = 0; e < row_.size(); ++e) {
                row_[e] += weight * value[e];
            }
        }
        for (size_t e = 0; e < row_.size(); ++e) {
            store_real(y.dtype, y.data, first + int64_t(e), row_[e]);
        }
    }

    const ReferenceArgs& args_;
    const AttentionGeometry& geometry_;
    const TensorArg* mask_;
    const TensorArg* nonpad_;
    const TensorArg* shown_;  // qk_matmul_output
    AttentionScores mode_;
    std::vector<double> keys_;    // [total, head_size]
    std::vector<double> values_;  // [total, value_size]
    std::vector<double> query_;
    std::vector<double> scores_;
    std::vector<double> row_;
};

}  // namespace

Status attention_reference(const ReferenceArgs& args) {
    LEAT_ASSIGN_OR_RETURN(const auto geometry, AttentionGeometry::make(args.node, args.inputs));
    const Status nonpad = check_nonpad(geometry, find_arg(args.inputs, kAttentionNonpad));
    if (!nonpad.ok()) {
        return Status(nonpad).with_node(args.node.label());
    }
    AttentionLoop(args, geometry).run();
    return {};
}

}  // namespace leat

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/elementwise/element_access.h"
#include "ops/linear_attention/linear_attention.h"

namespace leat {
namespace {

double linear_element(const TensorArg& arg, int64_t i) {
    return load_real(arg.dtype, arg.data, i);
}

// The recurrence of one key head of one sequence.
class LinearAttentionHead {
  public:
    LinearAttentionHead(const ReferenceArgs& args, const LinearAttentionRule& rule)
        : args_(args), rule_(rule) {
        query_heads_ = args.node.attr("q_num_heads", int64_t{1});
        key_heads_ = args.node.attr("kv_num_heads", int64_t{1});
        tokens_ = args.inputs[0].shape[1];
        key_size_ = args.inputs[0].shape[2] / query_heads_;
        value_size_ = args.inputs[2].shape[2] / key_heads_;
        const auto scale = double(args.node.attr("scale", 0.0F));
        scale_ = scale == 0 ? 1 / std::sqrt(double(key_size_)) : scale;
        state_.resize(size_t(key_size_ * value_size_));
        update_.resize(size_t(value_size_));
        result_.resize(size_t(value_size_));
    }

    int64_t key_heads() const { return key_heads_; }

    void run(int64_t sequence, int64_t head) {
        const int64_t first = (sequence * key_heads_ + head) * int64_t(state_.size());
        const TensorArg* past = find_arg(args_.inputs, 3);
        for (size_t i = 0; i < state_.size(); ++i) {
            state_[i] = past != nullptr ? linear_element(*past, first + int64_t(i)) : 0;
        }
        for (int64_t t = 0; t < tokens_; ++t) {
            const int64_t token = sequence * tokens_ + t;
            if (rule_.decays) {
                decay(token, head);
            }
            add(token, head);
            if (args_.outputs[0].present()) {
                read(token, head);
            }
        }
        if (const TensorArg* present = find_arg(args_.outputs, 1)) {
            for (size_t i = 0; i < state_.size(); ++i) {
                store_real(present->dtype, present->data, first + int64_t(i), state_[i]);
            }
        }
    }

  private:
    double* row(int64_t k) { return state_.data() + k * value_size_; }

    void decay(int64_t token, int64_t head) {
        const TensorArg& gate = args_.inputs[4];
        const bool is_by_head = gate.shape[2] == key_heads_;
        for (int64_t k = 0; k < key_size_; ++k) {
            const int64_t i = is_by_head ? token * key_heads_ + head
                                         : (token * key_heads_ + head) * key_size_ + k;
            const double factor = std::exp(linear_element(gate, i));
            for (int64_t v = 0; v < value_size_; ++v) {
                row(k)[v] *= factor;
            }
        }
    }

    void add(int64_t token, int64_t head) {
        const TensorArg& key = args_.inputs[1];
        const int64_t key_first = (token * key_heads_ + head) * key_size_;
        const int64_t value_first = (token * key_heads_ + head) * value_size_;
        for (int64_t v = 0; v < value_size_; ++v) {
            update_[size_t(v)] = linear_element(args_.inputs[2], value_first + v);
        }
        if (rule_.corrects) {
            correct(token, head, key_first);
        }
        for (int64_t k = 0; k < key_size_; ++k) {
            const double weight = linear_element(key, key_first + k);
            for (int64_t v = 0; v < value_size_; ++v) {
                row(k)[v] += weight * update_[size_t(v)];
            }
        }
    }

    // Of the value only what the state does not hold for the key.
    void correct(int64_t token, int64_t head, int64_t key_first) {
        for (int64_t k = 0; k < key_size_; ++k) {
            const double weight = linear_element(args_.inputs[1], key_first + k);
            for (int64_t v = 0; v < value_size_; ++v) {
                update_[size_t(v)] -= weight * row(k)[v];
            }
        }
        const TensorArg& beta = args_.inputs[5];
        const int64_t columns = beta.shape[2];
        const double rate = linear_element(beta, token * columns + (columns == 1 ? 0 : head));
        for (double& value : update_) {
            value *= rate;
        }
    }

    void read(int64_t token, int64_t head) {
        const TensorArg& output = args_.outputs[0];
        const int64_t group = query_heads_ / key_heads_;
        for (int64_t q = token * query_heads_ + head * group, i = 0; i < group; ++i, ++q) {
            std::fill(result_.begin(), result_.end(), 0.0);
            for (int64_t k = 0; k < key_size_; ++k) {
                const double weight = linear_element(args_.inputs[0], q * key_size_ + k);
                for (int64_t v = 0; v < value_size_; ++v) {
                    result_[size_t(v)] += weight * row(k)[v];
                }
            }
            for (int64_t v = 0; v < value_size_; ++v) {
                store_real(output.dtype, output.data, q * value_size_ + v,
                           result_[size_t(v)] * scale_);
            }
        }
    }

    const ReferenceArgs& args_;
    LinearAttentionRule rule_;
    int64_t query_heads_ = 1;
    int64_t key_heads_ = 1;
    int64_t tokens_ = 0;
    int64_t key_size_ = 0;
    int64_t value_size_ = 0;
    double scale_ = 1;
    std::vector<double> state_;  // [key_size, value_size]
    std::vector<double> update_;
    std::vector<double> result_;
};

}  // namespace

Status linear_attention_reference(const ReferenceArgs& args) {
    const int64_t sequences = args.inputs[0].shape[0];
    if (sequences == 0) {
        return {};  // then nobody has checked that a state has a size
    }
    LEAT_ASSIGN_OR_RETURN(const auto rule, LinearAttentionRule::of(args.node));
    LinearAttentionHead head(args, rule);
    for (int64_t sequence = 0; sequence < sequences; ++sequence) {
        for (int64_t i = 0; i < head.key_heads(); ++i) {
            head.run(sequence, i);
        }
    }
    return {};
}

}  // namespace leat

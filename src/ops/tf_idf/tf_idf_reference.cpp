#include <algorithm>

#include "base/out_of_memory.h"
#include "ops/elementwise/element_access.h"
#include "ops/tf_idf/tf_idf.h"

namespace leat {
namespace {

uint64_t child_key(int32_t parent, int32_t token) {
    return uint64_t(uint32_t(parent)) << 32U | uint32_t(token);
}

Status run_tf_idf(const ReferenceArgs& args) {
    LEAT_ASSIGN_OR_RETURN(const TfIdfCounter counter, TfIdfCounter::make(args.node));
    const TensorArg& x = args.inputs[0];
    const int rank = x.shape.rank();
    const int64_t rows = rank == 2 ? x.shape[0] : 1;
    const int64_t tokens = rank == 0 ? 1 : x.shape[rank - 1];
    auto numbers = std::vector<int32_t>(size_t(tokens));
    auto sums = std::vector<double>(size_t(counter.columns()));
    for (int64_t row = 0; row < rows; ++row) {
        counter.count_row(x, row * tokens, tokens, numbers.data(), sums.data(),
                          args.outputs[0].as<float>() + row * counter.columns());
    }
    return {};
}

}  // namespace

Result<TfIdfCounter> TfIdfCounter::make(const NodeData& node) {
    return catch_bad_alloc("store a pool of n-grams", [&]() -> Result<TfIdfCounter> {
        TfIdfCounter counter;
        LEAT_ASSIGN_OR_RETURN(counter.form_, tf_idf_form(node));
        counter.build();
        return counter;
    });
}

void TfIdfCounter::build() {
    gram_ = {kNone};  // of the root
    int32_t gram = 0;
    for (size_t length = 1; length <= form_.first.size(); ++length) {
        const int64_t end = form_.end(length);
        for (int64_t i = form_.first[length - 1]; i < end; i += int64_t(length)) {
            if (int64_t(length) >= form_.least_length && int64_t(length) <= form_.most_length) {
                add_gram(i, int64_t(length), gram);
            }
            ++gram;
        }
    }
}

int32_t TfIdfCounter::number_of_entry(int64_t i) {
    if (form_.has_strings) {
        return number_of_string_
            .emplace(form_.strings[size_t(i)], int32_t(number_of_string_.size()))
            .first->second;
    }
    return number_of_int_.emplace(form_.int64s[size_t(i)], int32_t(number_of_int_.size()))
        .first->second;
}

void TfIdfCounter::add_gram(int64_t begin, int64_t length, int32_t gram) {
    int32_t at = 0;
    for (int64_t i = begin; i < begin + length; ++i) {
        const auto [found, is_new] =
            child_.emplace(child_key(at, number_of_entry(i)), int32_t(gram_.size()));
        if (is_new) {
            gram_.push_back(kNone);
        }
        at = found->second;
    }
    gram_[size_t(at)] = gram;
}

int32_t TfIdfCounter::number_of(const TensorArg& x, int64_t i) const {
    if (form_.has_strings) {
        const auto found = number_of_string_.find(x.as<const std::string>()[i]);
        return found == number_of_string_.end() ? kNone : found->second;
    }
    const auto found = number_of_int_.find(load_integer(x.dtype, x.data, i));
    return found == number_of_int_.end() ? kNone : found->second;
}

void TfIdfCounter::count_gram(int32_t gram, double* sums) const {
    const bool is_weighted = form_.mode != TfIdfMode::kTf && !form_.weights.empty();
    const double weight = is_weighted ? double(form_.weights[size_t(gram)]) : 1;
    double& sum = sums[form_.column[size_t(gram)]];
    sum = form_.mode == TfIdfMode::kIdf ? weight : sum + weight;
}

// All n-grams whose first token is that at `begin`.
void TfIdfCounter::count_from(
    const int32_t* numbers, int64_t tokens, int64_t begin, int64_t apart, double* sums) const {
    int32_t at = 0;
    int64_t i = begin;
    for (int64_t length = 1; length <= form_.most_length; ++length) {
        const auto found = child_.find(child_key(at, numbers[i]));
        if (numbers[i] == kNone || found == child_.end()) {
            return;
        }
        at = found->second;
        const bool counts_here = length > 1 || apart == 1;  // a 1-gram once
        if (counts_here && gram_[size_t(at)] != kNone) {
            count_gram(gram_[size_t(at)], sums);
        }
        if (apart >= tokens - i) {
            return;
        }
        i += apart;
    }
}

void TfIdfCounter::count_row(const TensorArg& x,
                             int64_t begin,
                             int64_t tokens,
                             int32_t* numbers,
                             double* sums,
                             float* y) const {
    for (int64_t i = 0; i < tokens; ++i) {
        numbers[i] = number_of(x, begin + i);
    }
    std::fill_n(sums, form_.columns, 0.0);
    // Tokens that stand further apart than the row is long are none of an n-gram.
    const int64_t most_apart =
        form_.most_length == 1 ? 1 : std::min(form_.most_apart, std::max<int64_t>(tokens - 1, 1));
    for (int64_t apart = 1; apart <= most_apart; ++apart) {
        const int64_t end = apart == 1 ? tokens : tokens - apart;
        for (int64_t i = 0; i < end; ++i) {
            count_from(numbers, tokens, i, apart, sums);
        }
    }
    for (int64_t c = 0; c < form_.columns; ++c) {
        y[c] = float(sums[c]);
    }
}

Status tf_idf_reference(const ReferenceArgs& args) {
    return catch_bad_alloc("count n-grams", [&] { return run_tf_idf(args); });
}

}  // namespace leat

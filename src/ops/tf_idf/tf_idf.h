// TfIdfVectorizer: how often each n-gram of a pool occurs in a row of tokens.
//
//   x : i32, i64 or string, [C] or [N, C]; a scalar is a row of one token.
//   y : f32, [columns] or [N, columns], columns = max(ngram_indexes) + 1.
//   pool_int64s, pool_strings : one of them, of the kind of x. All 1-grams, then all 2-grams, ...;
//       those of length n begin at ngram_counts[n - 1]. Other lengths than min_gram_length to
//       max_gram_length are not counted.
//   ngram_indexes[i] : the column of the pool's i-th n-gram. Several may share one.
//   max_skip_count : the tokens of an n-gram may stand d apart, for each d from 1 to that + 1;
//       1-grams count once.
//   mode : TF, the counts; IDF, 1 where the count is above 0; TFIDF, the counts. In the last two an
//       n-gram counts with its weight, where there are weights: one for each of the pool.
// Where n-grams share a column, TF and TFIDF add them up, and IDF has what the last one gives that
// is found: as in ONNX Runtime. ONNX's reference evaluator takes the weights for those of columns.
// An n-gram that the pool has twice counts for its last place. Sums are kept in f64.
// ONNX TfIdfVectorizer-9.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/op_def.h"

namespace leat {

enum class TfIdfMode : uint8_t { kTf, kIdf, kTfIdf };

// The attributes of a node, checked. The views are of the node's.
struct TfIdfForm {
    TfIdfMode mode = TfIdfMode::kTf;
    int64_t least_length = 1;
    int64_t most_length = 1;
    int64_t most_apart = 1;  // places between two tokens of an n-gram, at the most
    int64_t columns = 0;
    bool has_strings = false;
    std::span<const int64_t> first;  // by length - 1: where its n-grams begin in the pool
    std::span<const int64_t> column;
    std::span<const float> weights;  // by n-gram; empty: all 1
    std::span<const int64_t> int64s;
    std::span<const std::string> strings;

    int64_t pool_size() const { return int64_t(has_strings ? strings.size() : int64s.size()); }
    // Of the n-grams of that length, in the pool.
    int64_t end(size_t length) const { return length < first.size() ? first[length] : pool_size(); }
};
// An error names the attribute that is wrong.
Result<TfIdfForm> tf_idf_form(const NodeData& node);

// The pool as a tree of tokens. Counting allocates nothing. Safe to use concurrently.
class TfIdfCounter {
  public:
    // The form's node outlives the counter.
    static Result<TfIdfCounter> make(const NodeData& node);

    int64_t columns() const { return form_.columns; }
    // Of `tokens` tokens of x, from token `begin` on, to y: `columns` elements. numbers, sums: room
    // for that many tokens and columns.
    void count_row(const TensorArg& x,
                   int64_t begin,
                   int64_t tokens,
                   int32_t* numbers,
                   double* sums,
                   float* y) const;

  private:
    static constexpr int32_t kNone = -1;

    void build();
    void add_gram(int64_t begin, int64_t length, int32_t gram);
    // Any number of the pool's token i, the same for equal ones.
    int32_t number_of_entry(int64_t i);
    int32_t number_of(const TensorArg& x, int64_t i) const;
    void count_gram(int32_t gram, double* sums) const;
    void count_from(
        const int32_t* numbers, int64_t tokens, int64_t begin, int64_t apart, double* sums) const;

    TfIdfForm form_;
    std::unordered_map<int64_t, int32_t> number_of_int_;
    std::unordered_map<std::string_view, int32_t> number_of_string_;
    // By node of the tree and token, in one number.
    std::unordered_map<uint64_t, int32_t> child_;
    std::vector<int32_t> gram_;  // by node of the tree: the n-gram that ends there, or kNone
};

Status tf_idf_reference(const ReferenceArgs& args);

}  // namespace leat

// LabelEncoder: y[i] = values[k] where x[i] is keys[k], else the default.
//
//   x, y : string, i64, f32; from version 4 on also f64, i32, i16, as keys_tensor and values_tensor
//       have them; y has the shape of x. x has the type of the keys, y that of the values.
//   default : that of the values' type; "_Unused", -1 and -0 where no attribute says another.
// A NaN is each NaN, a zero both zeros. Of equal keys the last one counts.
// Version 1: classes_strings[k] has the number k. x is i64 and becomes strings, or the reverse.
// ONNX LabelEncoder-4 and -2 of domain ai.onnx.ml, LabelEncoder-1, CategoryMapper-1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/op_def.h"

namespace leat {

// Keys or values. Views of the node's attributes, which outlive it.
struct LabelList {
    DType dtype = DType::kUndefined;
    int64_t count = 0;
    const std::byte* data = nullptr;  // null: the numbers 0, 1, ..
    Tensor keeper;
};

struct LabelForm {
    LabelList keys;
    LabelList values;
    LabelList fallback;  // one element
};
// Of LabelEncoder and CategoryMapper. x: the input's element type, which may decide the direction.
Result<LabelForm> label_form(const NodeData& node, DType x);

class LabelMap {
  public:
    static Result<LabelMap> make(const NodeData& node, DType x);

    // Elements [begin, end) of x and y.
    void map(const TensorArg& x, const TensorArg& y, int64_t begin, int64_t end) const;

  private:
    static constexpr int64_t kNone = -1;

    void add(int64_t key);
    int64_t find(const TensorArg& x, int64_t i) const;

    LabelForm form_;
    std::unordered_map<std::string_view, int64_t> strings_;
    std::unordered_map<uint64_t, int64_t> numbers_;  // of floats their bits as f64
};

Status label_encoder_reference(const ReferenceArgs& args);

}  // namespace leat

// Domain ai.onnx.ml, versions 1 to 5: encoders, scalers, linear models, support vector machines and
// trees. Below, real is f32, f64, i64 or i32; sums are kept in f64 and rounded once.
//
// LabelEncoder: y = values[i] where x is keys[i], else a default. label_encoder.h.
// CategoryMapper: the same between cats_strings and cats_int64s: strings become i64, i64 strings.
// ArrayFeatureExtractor: z = x[.., y], elements of the last axis. x : real or string, rank >= 1;
//   y : i64, any shape, 0 <= y < extent; z : as x with the last extent |y|, and [1, |y|] of a line.
// Binarizer: y = x > threshold ? 1 : 0. x, y : real. NaN becomes 0.
// Scaler: y = (x - offset) * scale, each one number or one for each index of the last axis, 0 and 1
//   where absent. x : real; y : f32.
// Normalizer: y = x / d along the last axis, d its maximum (MAX), the sum of its absolute values
//   (L1) or the root of the sum of its squares (L2), and 1 where that is 0. x : real [C] or [N, C];
//   y : f32.
// Imputer: y = x, but where x is replaced_value (NaN is itself) the imputed value: one, or one for
//   each index of the last axis. x, y : real. Integers have their own attributes.
// OneHotEncoder: y[.., k] = 1 where x is category k, the last one of equal ones. x : real or
// string;
//   real ones lose their fraction. y : f32, one axis more. Without attribute zeros an unknown
//   category is an error.
// FeatureVectorizer: y[n, ..] = the inputs' rows one after the other, each cut or filled with zeros
//   to its number of inputdimensions. Inputs : real [N, C] or [C]; y : f32.
// LinearRegressor, LinearClassifier, SVMRegressor, SVMClassifier: linear_models.h.
// TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier: tree_ensemble.h.
// Not here: DictVectorizer, CastMap, ZipMap, which need maps.
#pragma once

#include "graph/op_def.h"
#include "ops/elementwise/element_access.h"

namespace leat {

inline constexpr DTypeSet kMlReals =
    dtype_set(DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kInt32);

// Element i of a type of kMlReals, also of f16.
inline double load_ml(const TensorArg& x, int64_t i) {
    switch (x.dtype) {
        case DType::kFloat32:
            return double(x.as<const float>()[i]);
        case DType::kFloat64:
            return x.as<const double>()[i];
        default:
            return load_real(x.dtype, x.data, i);
    }
}

// The last extent; 1 of a scalar.
inline int64_t last_extent(const Shape& shape) {
    return shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
}

Status array_feature_extractor_reference(const ReferenceArgs& args);
Status binarizer_reference(const ReferenceArgs& args);
Status feature_vectorizer_reference(const ReferenceArgs& args);
Status imputer_reference(const ReferenceArgs& args);
Status normalizer_reference(const ReferenceArgs& args);
Status one_hot_encoder_reference(const ReferenceArgs& args);
Status scaler_reference(const ReferenceArgs& args);

}  // namespace leat

// The attributes of ai.onnx.ml's operators, in the versions of that domain.
#pragma once

#include "graph/attribute_schema.h"

namespace leat {

inline constexpr AttributeSchema kBinarizerAttributes[] = {
    {.name = "threshold", .kind = AttributeKind::kFloat},
};

inline constexpr AttributeSchema kCategoryMapperAttributes[] = {
    {.name = "cats_int64s", .kind = AttributeKind::kInts},
    {.name = "cats_strings", .kind = AttributeKind::kStrings},
    {.name = "default_int64", .kind = AttributeKind::kInt},
    {.name = "default_string", .kind = AttributeKind::kString},
};

inline constexpr AttributeSchema kFeatureVectorizerAttributes[] = {
    {.name = "inputdimensions", .kind = AttributeKind::kInts},
};

inline constexpr AttributeSchema kImputerAttributes[] = {
    {.name = "imputed_value_floats", .kind = AttributeKind::kFloats},
    {.name = "imputed_value_int64s", .kind = AttributeKind::kInts},
    {.name = "replaced_value_float", .kind = AttributeKind::kFloat},
    {.name = "replaced_value_int64", .kind = AttributeKind::kInt},
};

inline constexpr AttributeSchema kLabelEncoderAttributes[] = {
    // Of version 1 alone, whose form stays.
    {.name = "classes_strings", .kind = AttributeKind::kStrings},
    {.name = "default_float", .kind = AttributeKind::kFloat, .since = 2},
    {.name = "default_int64", .kind = AttributeKind::kInt},
    {.name = "default_string", .kind = AttributeKind::kString},
    {.name = "default_tensor", .kind = AttributeKind::kTensor, .since = 4},
    {.name = "keys_floats", .kind = AttributeKind::kFloats, .since = 2},
    {.name = "keys_int64s", .kind = AttributeKind::kInts, .since = 2},
    {.name = "keys_strings", .kind = AttributeKind::kStrings, .since = 2},
    {.name = "keys_tensor", .kind = AttributeKind::kTensor, .since = 4},
    {.name = "values_floats", .kind = AttributeKind::kFloats, .since = 2},
    {.name = "values_int64s", .kind = AttributeKind::kInts, .since = 2},
    {.name = "values_strings", .kind = AttributeKind::kStrings, .since = 2},
    {.name = "values_tensor", .kind = AttributeKind::kTensor, .since = 4},
};

inline constexpr AttributeSchema kLinearClassifierAttributes[] = {
    {.name = "classlabels_ints", .kind = AttributeKind::kInts},
    {.name = "classlabels_strings", .kind = AttributeKind::kStrings},
    {.name = "coefficients", .kind = AttributeKind::kFloats, .is_required = true},
    {.name = "intercepts", .kind = AttributeKind::kFloats},
    {.name = "multi_class", .kind = AttributeKind::kInt},
    {.name = "post_transform", .kind = AttributeKind::kString},
};

inline constexpr AttributeSchema kLinearRegressorAttributes[] = {
    {.name = "coefficients", .kind = AttributeKind::kFloats},
    {.name = "intercepts", .kind = AttributeKind::kFloats},
    {.name = "post_transform", .kind = AttributeKind::kString},
    {.name = "targets", .kind = AttributeKind::kInt},
};

inline constexpr AttributeSchema kNormalizerAttributes[] = {
    {.name = "norm", .kind = AttributeKind::kString},
};

inline constexpr AttributeSchema kOneHotEncoderAttributes[] = {
    {.name = "cats_int64s", .kind = AttributeKind::kInts},
    {.name = "cats_strings", .kind = AttributeKind::kStrings},
    {.name = "zeros", .kind = AttributeKind::kInt},
};

inline constexpr AttributeSchema kSVMClassifierAttributes[] = {
    {.name = "classlabels_ints", .kind = AttributeKind::kInts},
    {.name = "classlabels_strings", .kind = AttributeKind::kStrings},
    {.name = "coefficients", .kind = AttributeKind::kFloats},
    {.name = "kernel_params", .kind = AttributeKind::kFloats},
    {.name = "kernel_type", .kind = AttributeKind::kString},
    {.name = "post_transform", .kind = AttributeKind::kString},
    {.name = "prob_a", .kind = AttributeKind::kFloats},
    {.name = "prob_b", .kind = AttributeKind::kFloats},
    {.name = "rho", .kind = AttributeKind::kFloats},
    {.name = "support_vectors", .kind = AttributeKind::kFloats},
    {.name = "vectors_per_class", .kind = AttributeKind::kInts},
};

inline constexpr AttributeSchema kSVMRegressorAttributes[] = {
    {.name = "coefficients", .kind = AttributeKind::kFloats},
    {.name = "kernel_params", .kind = AttributeKind::kFloats},
    {.name = "kernel_type", .kind = AttributeKind::kString},
    {.name = "n_supports", .kind = AttributeKind::kInt},
    {.name = "one_class", .kind = AttributeKind::kInt},
    {.name = "post_transform", .kind = AttributeKind::kString},
    {.name = "rho", .kind = AttributeKind::kFloats},
    {.name = "support_vectors", .kind = AttributeKind::kFloats},
};

inline constexpr AttributeSchema kScalerAttributes[] = {
    {.name = "offset", .kind = AttributeKind::kFloats},
    {.name = "scale", .kind = AttributeKind::kFloats},
};

inline constexpr AttributeSchema kTreeEnsembleAttributes[] = {
    {.name = "aggregate_function", .kind = AttributeKind::kInt, .since = 5},
    {.name = "leaf_targetids", .kind = AttributeKind::kInts, .since = 5, .is_required = true},
    {.name = "leaf_weights", .kind = AttributeKind::kTensor, .since = 5, .is_required = true},
    {.name = "membership_values", .kind = AttributeKind::kTensor, .since = 5},
    {.name = "n_targets", .kind = AttributeKind::kInt, .since = 5},
    {.name = "nodes_falseleafs", .kind = AttributeKind::kInts, .since = 5, .is_required = true},
    {.name = "nodes_falsenodeids", .kind = AttributeKind::kInts, .since = 5, .is_required = true},
    {.name = "nodes_featureids", .kind = AttributeKind::kInts, .since = 5, .is_required = true},
    {.name = "nodes_hitrates", .kind = AttributeKind::kTensor, .since = 5},
    {.name = "nodes_missing_value_tracks_true", .kind = AttributeKind::kInts, .since = 5},
    {.name = "nodes_modes", .kind = AttributeKind::kTensor, .since = 5, .is_required = true},
    {.name = "nodes_splits", .kind = AttributeKind::kTensor, .since = 5, .is_required = true},
    {.name = "nodes_trueleafs", .kind = AttributeKind::kInts, .since = 5, .is_required = true},
    {.name = "nodes_truenodeids", .kind = AttributeKind::kInts, .since = 5, .is_required = true},
    {.name = "post_transform", .kind = AttributeKind::kInt, .since = 5},
    {.name = "tree_roots", .kind = AttributeKind::kInts, .since = 5, .is_required = true},
};

inline constexpr AttributeSchema kTreeEnsembleClassifierAttributes[] = {
    {.name = "base_values", .kind = AttributeKind::kFloats},
    {.name = "base_values_as_tensor", .kind = AttributeKind::kTensor, .since = 3},
    {.name = "class_ids", .kind = AttributeKind::kInts},
    {.name = "class_nodeids", .kind = AttributeKind::kInts},
    {.name = "class_treeids", .kind = AttributeKind::kInts},
    {.name = "class_weights", .kind = AttributeKind::kFloats},
    {.name = "class_weights_as_tensor", .kind = AttributeKind::kTensor, .since = 3},
    {.name = "classlabels_int64s", .kind = AttributeKind::kInts},
    {.name = "classlabels_strings", .kind = AttributeKind::kStrings},
    {.name = "nodes_falsenodeids", .kind = AttributeKind::kInts},
    {.name = "nodes_featureids", .kind = AttributeKind::kInts},
    {.name = "nodes_hitrates", .kind = AttributeKind::kFloats},
    {.name = "nodes_hitrates_as_tensor", .kind = AttributeKind::kTensor, .since = 3},
    {.name = "nodes_missing_value_tracks_true", .kind = AttributeKind::kInts},
    {.name = "nodes_modes", .kind = AttributeKind::kStrings},
    {.name = "nodes_nodeids", .kind = AttributeKind::kInts},
    {.name = "nodes_treeids", .kind = AttributeKind::kInts},
    {.name = "nodes_truenodeids", .kind = AttributeKind::kInts},
    {.name = "nodes_values", .kind = AttributeKind::kFloats},
    {.name = "nodes_values_as_tensor", .kind = AttributeKind::kTensor, .since = 3},
    {.name = "post_transform", .kind = AttributeKind::kString},
};

inline constexpr AttributeSchema kTreeEnsembleRegressorAttributes[] = {
    {.name = "aggregate_function", .kind = AttributeKind::kString},
    {.name = "base_values", .kind = AttributeKind::kFloats},
    {.name = "base_values_as_tensor", .kind = AttributeKind::kTensor, .since = 3},
    {.name = "n_targets", .kind = AttributeKind::kInt},
    {.name = "nodes_falsenodeids", .kind = AttributeKind::kInts},
    {.name = "nodes_featureids", .kind = AttributeKind::kInts},
    {.name = "nodes_hitrates", .kind = AttributeKind::kFloats},
    {.name = "nodes_hitrates_as_tensor", .kind = AttributeKind::kTensor, .since = 3},
    {.name = "nodes_missing_value_tracks_true", .kind = AttributeKind::kInts},
    {.name = "nodes_modes", .kind = AttributeKind::kStrings},
    {.name = "nodes_nodeids", .kind = AttributeKind::kInts},
    {.name = "nodes_treeids", .kind = AttributeKind::kInts},
    {.name = "nodes_truenodeids", .kind = AttributeKind::kInts},
    {.name = "nodes_values", .kind = AttributeKind::kFloats},
    {.name = "nodes_values_as_tensor", .kind = AttributeKind::kTensor, .since = 3},
    {.name = "post_transform", .kind = AttributeKind::kString},
    {.name = "target_ids", .kind = AttributeKind::kInts},
    {.name = "target_nodeids", .kind = AttributeKind::kInts},
    {.name = "target_treeids", .kind = AttributeKind::kInts},
    {.name = "target_weights", .kind = AttributeKind::kFloats},
    {.name = "target_weights_as_tensor", .kind = AttributeKind::kTensor, .since = 3},
};

}  // namespace leat

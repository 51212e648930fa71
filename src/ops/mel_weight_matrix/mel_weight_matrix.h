// MelWeightMatrix: filters that gather the bins of a spectrum into bands of the mel scale.
//   num_mel_bins, dft_length, sample_rate : i32 or i64, one element each
//   lower_edge_hertz, upper_edge_hertz : f16, bf16, f32, f64, one element each
//   y : [dft_length / 2 + 1, num_mel_bins], of any number type (attribute output_datatype, default
//   f32)
// mel(f) = 2595 log10(1 + f / 700) is divided into num_mel_bins + 2 equal steps between the edges:
// step i begins in the bin b[i] = floor((dft_length + 1) f[i] / sample_rate). Column i is a
// triangle that rises from b[i] to 1 in b[i + 1], and falls to 0 in b[i + 2]. Where b[i] and
// b[i + 1] are one bin, there is no rise.
// Computed in f64, rounded once; integers truncate. Filters beyond the spectrum are errors. ONNX
// MelWeightMatrix-17.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status mel_weight_matrix_reference(const ReferenceArgs& args);

}  // namespace leat

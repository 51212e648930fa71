// Einsum: y[output] = sum of the products of all operands over every label that the output lacks.
//   Attribute equation: "term, term -> output". A term has a letter for each axis of its operand;
//   "..." stands for axes that broadcast with those of other operands from the last one on. A
//   letter that a term repeats takes a diagonal. Without "->" the output is the ellipsis, and the
//   letters that appear once, in the order of ASCII. Spaces mean nothing.
//   Operands : any number of one type: f16, bf16, f32, f64 or any integers; row-major. An axis of
//   extent 1 goes with any extent of its label.
// Labels that only one operand has are summed first. Then two operands are contracted at a time: in
// the order of least cost of up to eight operands, and of more the pair whose result adds least to
// what is kept (as opt_einsum's `dp` and `greedy`). Sums and intermediate results are f64, rounded
// once at the end; integers wrap around. ONNX Einsum-28.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace leat {

// A letter, or from 0 on an axis of the ellipsis: 0 is the last one.
using EinsumLabel = uint8_t;
inline constexpr size_t kEinsumLabels = 128;
using EinsumLabelSet = std::bitset<kEinsumLabels>;
using EinsumExtents = std::array<int64_t, kEinsumLabels>;

// An equation as it reads for operands of some ranks: labels by axis.
struct EinsumEquation {
    std::vector<std::vector<EinsumLabel>> operands;
    std::vector<EinsumLabel> output;
    // False: an ellipsis of the output has axes that only operands of unknown rank tell.
    bool is_rank_known = true;
};

// ranks: by operand, -1: unknown; such an operand has no labels for its ellipsis.
Result<EinsumEquation> read_einsum(std::string_view equation, std::span<const int> ranks);

// By label; an error where operands differ in other extents than 1.
Result<EinsumExtents> einsum_extents(const EinsumEquation& equation,
                                     std::span<const TensorArg> operands);

// Which parts are contracted: the operands have the first numbers, and each result the next one.
struct EinsumOrder {
    std::vector<std::array<size_t, 2>> steps;
    double multiplications = 0;
};
// operands: labels by operand. Of each, those with extent 1 count as absent.
EinsumOrder einsum_order(const std::vector<EinsumLabelSet>& operands,
                         const EinsumLabelSet& output,
                         const EinsumExtents& extents);
EinsumOrder einsum_order(const EinsumEquation& equation,
                         const EinsumExtents& extents,
                         std::span<const TensorArg> operands);

// The labels of an operand whose axes are longer than 1.
EinsumLabelSet einsum_labels(const std::vector<EinsumLabel>& labels, const Shape& shape);

Status einsum_reference(const ReferenceArgs& args);

}  // namespace leat

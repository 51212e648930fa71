// The builders behind the table of zoo.cpp.
#pragma once

#include "leat/graph.h"
#include "leat/status.h"

namespace leat::zoo {

class Parameters;

Result<Graph> build_resnet50(const Parameters& parameters);
Result<Graph> build_mobilenet_v2(const Parameters& parameters);
Result<Graph> build_squeezenet1_1(const Parameters& parameters);
Result<Graph> build_vit_b16(const Parameters& parameters);
Result<Graph> build_bert_base(const Parameters& parameters);
Result<Graph> build_gpt2(const Parameters& parameters);
Result<Graph> build_gpt2_decode(const Parameters& parameters);

}  // namespace leat::zoo

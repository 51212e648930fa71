#include <fmt/core.h>

#include "conformance/case_inputs.h"

namespace leat::testing {

std::vector<OpCase> optimizer_cases() {
    std::vector<OpCase> cases;
    // Tensors of these shapes; sums of squares are not negative.
    const auto add = [&cases](const std::string& op, const std::string& name, int groups,
                              const std::vector<Shape>& shapes, int64_t count, DType dtype,
                              Attributes attributes) {
        OpCase each;
        each.name = op + "/" + name;
        each.op_type = "ai.onnx.preview.training." + op;
        each.attributes = std::move(attributes);
        each.output_count = (groups - 1) * int(shapes.size());
        each.inputs = {given_input<float>({}, {0.125F}), given_input<int64_t>({}, {count})};
        for (int group = 0; group < groups; ++group) {
            for (const Shape& shape : shapes) {
                const bool is_squares = group + 1 == groups && op != "Momentum";
                each.inputs.push_back(random_input(shape, dtype, is_squares ? 0 : -2));
            }
        }
        cases.push_back(std::move(each));
    };
    for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
        const std::string type(name_of(dtype));
        add("Adagrad", type, 3, {{3, 4}}, 2, dtype,
            {{"decay_factor", 0.1F}, {"epsilon", 1e-5F}, {"norm_coefficient", 0.001F}});
        add("Adam", type, 4, {{3, 4}}, 2, dtype,
            {{"alpha", 0.95F},
             {"beta", 0.8F},
             {"norm_coefficient", 0.001F},
             {"norm_coefficient_post", 0.01F}});
        for (const std::string mode : {"standard", "nesterov"}) {
            for (const int64_t count : {0, 3}) {
                add("Momentum", fmt::format("{}_{}_{}", type, mode, count), 3, {{3, 4}}, count,
                    dtype,
                    {{"alpha", 0.95F},
                     {"beta", 0.5F},
                     {"mode", mode},
                     {"norm_coefficient", 0.001F}});
            }
        }
    }
    add("Adagrad", "several", 3, {{2}, {0, 3}}, 0, DType::kFloat32, {});
    add("Adam", "first", 4, {{2, 2}}, 0, DType::kFloat32, {});
    add("Adam", "several", 4, {{2}, {}}, 1, DType::kFloat32, {});
    add("Momentum", "several", 3, {{1}, {2, 3}}, 1, DType::kFloat32,
        {{"alpha", 0.5F},
         {"beta", 0.5F},
         {"mode", std::string("standard")},
         {"norm_coefficient", 0.0F}});
    return cases;
}

}  // namespace leat::testing

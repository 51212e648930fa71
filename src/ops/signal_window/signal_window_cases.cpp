#include "conformance/case_inputs.h"

namespace leat::testing {

std::vector<OpCase> signal_window_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& op_type, const std::string& name, int64_t size,
                              Attributes attributes) {
        CaseInput operand = given_input<int64_t>({}, Ints{size});
        operand.constant = true;
        cases.push_back(make_case(op_type, name, {std::move(operand)}, std::move(attributes)));
    };
    for (const std::string op_type : {"BlackmanWindow", "HammingWindow", "HannWindow"}) {
        for (const int64_t periodic : {0, 1}) {
            for (const int64_t size : {0, 2, 9, 10}) {
                add(op_type, (periodic != 0 ? "periodic_" : "symmetric_") + std::to_string(size),
                    size, {{"periodic", periodic}});
            }
        }
        for (const DType dtype : {DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64,
                                  DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64,
                                  DType::kFloat16, DType::kBfloat16, DType::kFloat64}) {
            add(op_type, std::string(name_of(dtype)), 8, {{"output_datatype", int64_t(dtype)}});
        }
        cases.push_back(make_case(op_type, "narrow_size", {given_input<int32_t>({1}, {5})}));
        cases.back().inputs[0].constant = true;
    }
    return cases;
}

}  // namespace leat::testing

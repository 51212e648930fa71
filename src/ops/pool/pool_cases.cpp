// Conformance cases of the pooling operators.
#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

struct PoolCase {
    const char* name;
    Shape shape;
    Attributes attributes;
};

std::vector<PoolCase> window_cases() {
    const Ints two{2, 2};
    const Ints three{3, 3};
    const Ints ones{1, 1, 1, 1};
    const int64_t yes = 1;
    return {
        {"k2_stride2", {1, 5, 8, 10}, {{"kernel_shape", two}, {"strides", two}}},
        {"k3_stride2_pad1",
         {2, 35, 13, 12},
         {{"kernel_shape", three}, {"strides", two}, {"pads", ones}}},
        {"k3_stride1", {1, 64, 9, 9}, {{"kernel_shape", three}}},
        {"large", {1, 16, 56, 56}, {{"kernel_shape", three}, {"strides", two}, {"pads", ones}}},
        {"asymmetric",
         {1, 3, 9, 10},
         {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{1, 3}}, {"pads", Ints{0, 1, 2, 0}}}},
        {"dilated", {1, 4, 11, 12}, {{"kernel_shape", two}, {"dilations", Ints{2, 3}}}},
        {"ceil", {1, 7, 6, 7}, {{"kernel_shape", three}, {"strides", two}, {"ceil_mode", yes}}},
        {"ceil_pads",
         {1, 7, 8, 9},
         {{"kernel_shape", three}, {"strides", two}, {"pads", ones}, {"ceil_mode", yes}}},
        {"ceil_cut",
         {1, 2, 2, 2},
         {{"kernel_shape", Ints{1, 1}}, {"strides", Ints{2, 2}}, {"ceil_mode", yes}}},
        {"same_upper",
         {1, 6, 10, 9},
         {{"kernel_shape", three}, {"strides", two}, {"auto_pad", std::string("SAME_UPPER")}}},
        {"same_lower",
         {1, 6, 10, 9},
         {{"kernel_shape", two}, {"strides", two}, {"auto_pad", std::string("SAME_LOWER")}}},
        {"valid",
         {1, 6, 10, 9},
         {{"kernel_shape", three}, {"strides", two}, {"auto_pad", std::string("VALID")}}},
        {"whole_input", {2, 40, 7, 7}, {{"kernel_shape", Ints{7, 7}}}},
        {"1d", {2, 9, 30}, {{"kernel_shape", Ints{4}}, {"strides", Ints{3}}, {"pads", Ints{1, 2}}}},
        {"3d",
         {1, 4, 6, 7, 8},
         {{"kernel_shape", Ints{2, 3, 2}},
          {"strides", Ints{2, 1, 2}},
          {"pads", Ints{1, 1, 0, 0, 1, 1}}}},
        {"batch_zero", {0, 4, 6, 7}, {{"kernel_shape", two}}},
    };
}

OpCase pool(const std::string& op, const PoolCase& row) {
    return {op + "/" + row.name, op, {random_input(row.shape)}, row.attributes};
}

void add_type_cases(std::vector<OpCase>& cases,
                    const std::string& op,
                    const std::vector<DType>& dtypes) {
    for (const DType dtype : dtypes) {
        OpCase op_case = pool(
            op, {"", {1, 3, 6, 7}, {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 0, 0, 1}}}});
        op_case.name += name_of(dtype);
        op_case.inputs[0] = random_input({1, 3, 6, 7}, dtype, 0, 100);
        op_case.rtol = op_case.atol = 1e-2;
        cases.push_back(std::move(op_case));
    }
}

void add_global_cases(std::vector<OpCase>& cases, const std::string& op) {
    cases.push_back(pool(op, {"images", {2, 37, 7, 7}, {}}));
    cases.push_back(pool(op, {"many_channels", {1, 1300, 5, 6}, {}}));
    cases.push_back(pool(op, {"1d", {2, 5, 100}, {}}));
    cases.push_back(pool(op, {"3d", {1, 5, 3, 4, 5}, {}}));
    cases.push_back(pool(op, {"one_position", {2, 5, 1, 1}, {}}));
    cases.push_back(pool(op, {"batch_zero", {0, 5, 3, 3}, {}}));
    OpCase f64 = pool(op, {"f64", {1, 3, 4, 4}, {}});
    f64.inputs[0].dtype = DType::kFloat64;
    cases.push_back(std::move(f64));
}

}  // namespace

std::vector<OpCase> pool_cases() {
    std::vector<OpCase> cases;
    for (const PoolCase& row : window_cases()) {
        cases.push_back(pool("MaxPool", row));
        cases.push_back(pool("AveragePool", row));
        OpCase padded = pool("AveragePool", row);
        padded.name += "_count_include_pad";
        padded.attributes["count_include_pad"] = int64_t{1};
        cases.push_back(std::move(padded));
        for (const int64_t order : {0, 1}) {
            OpCase indices = pool("MaxPool", row);
            indices.name += order == 0 ? "_indices" : "_indices_column_major";
            indices.attributes["storage_order"] = order;
            indices.output_count = 2;
            cases.push_back(std::move(indices));
        }
    }
    add_type_cases(
        cases, "MaxPool",
        {DType::kFloat64, DType::kFloat16, DType::kBfloat16, DType::kInt8, DType::kUint8});
    add_type_cases(cases, "AveragePool", {DType::kFloat64, DType::kFloat16, DType::kBfloat16});
    add_global_cases(cases, "GlobalMaxPool");
    add_global_cases(cases, "GlobalAveragePool");
    return cases;
}

}  // namespace leat::testing

#include "ops/movement/movement_cases.h"

namespace leat::testing {

namespace {

constexpr int64_t kOn = 1;

CaseInput scalar_of_dft(int64_t value) {
    CaseInput input = given_input<int64_t>({}, Ints{value});
    input.constant = true;
    return input;
}

std::vector<OpCase> stft_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, std::vector<CaseInput> inputs,
                              Attributes attributes = {}) {
        cases.push_back(make_case("STFT", name, std::move(inputs), std::move(attributes)));
    };
    for (const DType dtype :
         {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
        const std::string name(name_of(dtype));
        add(name + "_window",
            {random_elements({2, 20, 1}, dtype), scalar_of_dft(3), random_elements({6}, dtype)});
        add(name + "_frames", {random_elements({1, 20, 1}, dtype), scalar_of_dft(4), absent_input(),
                               scalar_of_dft(8)});
    }
    add("other_step",
        {random_elements({1, 20, 1}), scalar_of_dft(5), absent_input(), scalar_of_dft(8)});
    add("frames_of_4",
        {random_elements({1, 20, 1}), scalar_of_dft(4), absent_input(), scalar_of_dft(4)});
    add("frames_of_5",
        {random_elements({1, 20, 1}), scalar_of_dft(4), absent_input(), scalar_of_dft(5)});
    add("both",
        {random_elements({2, 15, 1}), scalar_of_dft(1), random_elements({5}), scalar_of_dft(5)});
    add("whole", {random_elements({2, 11, 1}), scalar_of_dft(2)});
    add("complex", {random_elements({2, 15, 2}), scalar_of_dft(4), random_elements({7})},
        {{"onesided", int64_t{0}}});
    add("complex_half", {random_elements({2, 15, 2}), scalar_of_dft(4), random_elements({7})});
    add("matrix", {random_elements({2, 15}), scalar_of_dft(4), random_elements({7})});
    add("no_signal", {random_elements({0, 15, 1}), scalar_of_dft(4), random_elements({7})});
    return cases;
}

}  // namespace

std::vector<OpCase> dft_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, std::vector<CaseInput> inputs,
                              Attributes attributes = {}) {
        cases.push_back(make_case("DFT", name, std::move(inputs), std::move(attributes)));
    };
    for (const DType dtype :
         {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
        const std::string name(name_of(dtype));
        add(name + "_real", {random_elements({2, 6, 1}, dtype)});
        add(name + "_complex", {random_elements({2, 5, 2}, dtype)});
        add(name + "_inverse", {random_elements({2, 5, 2}, dtype)}, {{"inverse", kOn}});
        add(name + "_onesided", {random_elements({2, 6, 1}, dtype)}, {{"onesided", kOn}});
        add(name + "_inverse_onesided", {random_elements({2, 4, 2}, dtype)},
            {{"inverse", kOn}, {"onesided", kOn}});
    }
    for (const int64_t length : {1, 2, 3, 4, 7, 8, 9}) {
        add("length_" + std::to_string(length),
            {random_elements({2, 5, 2}), scalar_of_dft(length)});
        add("half_of_" + std::to_string(length),
            {random_elements({2, 3, 2}), scalar_of_dft(length)},
            {{"inverse", kOn}, {"onesided", kOn}});
    }
    for (const int64_t axis : {0, 1, 2, -2, -4}) {
        add("axis_" + std::to_string(axis),
            {random_elements({3, 4, 5, 2}), absent_input(), scalar_of_dft(axis)});
        add("length_and_axis_" + std::to_string(axis),
            {random_elements({3, 4, 5, 1}), scalar_of_dft(6), scalar_of_dft(axis)},
            {{"onesided", kOn}});
    }
    // Mixed factors, a large prime, and twice that.
    for (const int64_t length : {60, 128, 67, 134, 1009}) {
        add("line_" + std::to_string(length), {random_elements({1, length, 2})});
    }
    add("empty", {random_elements({0, 4, 2})});
    add("no_elements", {random_elements({3, 0, 2})});
    for (OpCase& each : stft_cases()) {
        cases.push_back(std::move(each));
    }
    return cases;
}

}  // namespace leat::testing

#include <cmath>
#include <limits>
#include <random>

#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

struct NmsCase {
    std::string name;
    CaseInput boxes;
    CaseInput scores;
    int64_t most = 100;
    float iou = 0.5F;
    std::optional<float> score;
    int64_t center = 0;
};

CaseInput number_of_boxes(int64_t most) {
    return given_input<int64_t>({1}, {most});
}
CaseInput threshold(float value) {
    return given_input<float>({1}, {value});
}

OpCase nms_case(const NmsCase& given) {
    return exact(
        make_case("NonMaxSuppression", given.name,
                  {given.boxes, given.scores, number_of_boxes(given.most), threshold(given.iou),
                   given.score ? threshold(*given.score) : absent_input()},
                  {{"center_point_box", given.center}}));
}

// Around some places, as a detector gives them; centre, width and height.
CaseInput crowded_boxes(int64_t batches, int64_t spatial, bool is_center) {
    std::mt19937 engine(uint32_t(spatial * 2 + batches));
    const auto uniform = [&engine] { return float(engine() >> 8) * 0x1p-24F; };
    std::vector<float> numbers;
    for (int64_t i = 0; i < batches * spatial; ++i) {
        const float place = std::floor(uniform() * 8);
        const float x = place + uniform() * 0.5F;
        const float y = place * 2 + uniform() * 0.5F;
        const float width = 0.5F + uniform();
        const float height = 0.5F + uniform();
        const std::vector<float> centered = {x, y, width, height};
        const std::vector<float> corners = {y + height, x, y, x + width};
        const std::vector<float>& box = is_center ? centered : corners;
        numbers.insert(numbers.end(), box.begin(), box.end());
    }
    return given_input<float>({batches, spatial, 4}, numbers);
}

// Few different scores: many ties.
CaseInput tied_scores(int64_t batches, int64_t classes, int64_t spatial) {
    std::vector<float> scores;
    for (int64_t i = 0; i < batches * classes * spatial; ++i) {
        scores.push_back(float(i * 7 % 5) / 4 - 0.5F);
    }
    return given_input<float>({batches, classes, spatial}, scores);
}

// Squares of whole numbers, whose overlaps are quotients of small ones.
CaseInput squares(int64_t spatial) {
    std::vector<float> numbers;
    for (int64_t i = 0; i < spatial; ++i) {
        const auto at = float(i % 5);
        const auto edge = float(1 + i % 3);
        const std::vector<float> box = {at, at, at + edge, at + edge};
        numbers.insert(numbers.end(), box.begin(), box.end());
    }
    return given_input<float>({1, spatial, 4}, numbers);
}

CaseInput odd_boxes() {
    const auto nan = std::numeric_limits<float>::quiet_NaN();
    const auto infinity = std::numeric_limits<float>::infinity();
    const auto largest = std::numeric_limits<float>::max();
    const auto least = std::numeric_limits<float>::denorm_min();
    return given_input<float>(
        {1, 12, 4},
        {0,        0,        1,         1,         0,        0,        1, 1,   nan,      0,
         1,        1,        0,         nan,       1,        1,        0, 0,   0,        1,
         0,        0,        infinity,  infinity,  0,        0,        1, nan, -largest, -largest,
         largest,  largest,  -infinity, -infinity, infinity, infinity, 0, 0,   least,    least,
         infinity, infinity, infinity,  infinity,  1,        1,        0, 0});
}

}  // namespace

std::vector<OpCase> non_max_suppression_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const NmsCase& given) { cases.push_back(nms_case(given)); };
    const auto scores = [](int64_t batches, int64_t classes, int64_t spatial) {
        return random_input({batches, classes, spatial}, DType::kFloat32, 0, 1);
    };
    add({"corners", crowded_boxes(1, 40, false), scores(1, 1, 40)});
    add({"center", crowded_boxes(1, 40, true), scores(1, 1, 40), 100, 0.5F, {}, 1});
    add({"classes", crowded_boxes(2, 50, false), scores(2, 3, 50), 6, 0.4F, 0.3F});
    add({"ties", crowded_boxes(2, 70, false), tied_scores(2, 2, 70), 100, 0.3F, -0.2F});
    add({"scores_of_both_signs", crowded_boxes(1, 70, false), tied_scores(1, 2, 70)});
    add({"many", crowded_boxes(1, 600, false), scores(1, 2, 600), 1000, 0.6F, 0.1F});
    add({"many_of_all", crowded_boxes(1, 600, true), scores(1, 1, 600), 1000, 1, {}, 1});
    add({"any_overlap", crowded_boxes(1, 300, false), scores(1, 1, 300), 1000, 0});
    for (const float iou : {0.0F, 1.0F / 9, 0.125F, 0.25F, 1.0F / 3, 4.0F / 9, 0.5F, 1.0F}) {
        add({fmt::format("squares_{}", int(iou * 1000)), squares(45), tied_scores(1, 1, 45), 100,
             iou});
    }
    // Several workers share it.
    add({"shared", crowded_boxes(3, 700, false), scores(3, 5, 700), 50, 0.5F, 0.2F});
    add({"most_0", crowded_boxes(1, 10, false), scores(1, 1, 10), 0});
    add({"most_negative", crowded_boxes(1, 10, false), scores(1, 1, 10), -3});
    add({"most_1", crowded_boxes(1, 10, false), scores(1, 2, 10), 1});
    add({"no_score_is_larger", crowded_boxes(1, 10, false), scores(1, 1, 10), 9, 0.5F, 1.0F});
    add({"no_boxes", random_input({1, 0, 4}), random_input({1, 2, 0})});
    add({"no_classes", random_input({1, 5, 4}), random_input({1, 0, 5})});
    add({"no_batches", random_input({0, 5, 4}), random_input({0, 2, 5})});
    const auto nan = std::numeric_limits<float>::quiet_NaN();
    const CaseInput odd_scores = given_input<float>(
        {1, 1, 12}, {0.5F, nan, 0.7F, 0, -0.0F, 0.3F, 0.3F, -1, nan, 0.9F, 0.8F, 0.0F});
    add({"odd_boxes", odd_boxes(), odd_scores, 100, 0.1F});
    add({"odd_scores", odd_boxes(), odd_scores, 100, 0.1F, 0.0F});
    add({"odd_threshold", odd_boxes(), odd_scores, 100, 0.1F, nan});
    OpCase constant =
        nms_case({"constant_limits", crowded_boxes(2, 60, false), scores(2, 2, 60), 7});
    for (size_t i = 2; i < 4; ++i) {
        constant.inputs[i].constant = true;
    }
    cases.push_back(std::move(constant));
    return cases;
}

}  // namespace leat::testing

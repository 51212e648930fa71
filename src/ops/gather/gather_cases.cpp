#include "ops/movement/movement_cases.h"

namespace leat::testing {

namespace {

CaseInput random_indices(Shape shape, int64_t extent, DType dtype = DType::kInt64) {
    CaseInput input = random_elements(shape, dtype);
    input.low = double(-extent);
    input.high = double(extent - 1);
    return input;
}

void add_gather(std::vector<OpCase>& cases) {
    const auto add = [&cases](const std::string& name, int64_t axis, CaseInput x,
                              CaseInput indices) {
        cases.push_back(
            {"Gather/" + name, "Gather", {std::move(x), std::move(indices)}, {{"axis", axis}}});
    };
    add("embedding", 0, random_elements({100, 48}), random_indices({3, 17}, 100));
    add("large_embedding", 0, random_elements({300, 256}), random_indices({4, 128}, 300));
    add("narrow_indices", 0, random_elements({9, 4}), random_indices({6}, 9, DType::kInt32));
    add("scalar_index", 1, random_elements({3, 5, 2}), random_indices({}, 5));
    add("last_axis", -1, random_elements({7, 9}), random_indices({2, 3}, 9));
    add("no_indices", 0, random_elements({7, 9}), random_indices({0}, 7));
    add("empty_rows", 0, random_elements({7, 0}), random_indices({3}, 7));
    for (const DType dtype : types_of_all_sizes()) {
        add(std::string(name_of(dtype)), 1, random_elements({3, 5}, dtype), random_indices({4}, 5));
    }
    add("strings", 0, given_strings({4, 2}), random_indices({3}, 4));
}

void add_gather_elements(std::vector<OpCase>& cases) {
    const auto add = [&cases](const std::string& name, int64_t axis, CaseInput x,
                              CaseInput indices) {
        cases.push_back({"GatherElements/" + name,
                         "GatherElements",
                         {std::move(x), std::move(indices)},
                         {{"axis", axis}}});
    };
    add("rows", 0, random_elements({5, 6}), random_indices({3, 4}, 5));
    add("columns", -1, random_elements({5, 6}), random_indices({5, 9}, 6));
    add("middle", 1, random_elements({2, 5, 3}), random_indices({2, 7, 3}, 5, DType::kInt32));
    add("large", 1, random_elements({60, 70}), random_indices({60, 500}, 70));
    add("empty", 1, random_elements({2, 5}), random_indices({2, 0}, 5));
    for (const DType dtype : types_of_all_sizes()) {
        add(std::string(name_of(dtype)), 0, random_elements({3, 5}, dtype),
            random_indices({4, 5}, 3));
    }
    add("strings", 0, given_strings({4, 2}), random_indices({3, 2}, 4));
}

void add_gather_nd(std::vector<OpCase>& cases) {
    const auto add = [&cases](const std::string& name, int64_t batch_dims, CaseInput x,
                              CaseInput indices) {
        cases.push_back({"GatherND/" + name,
                         "GatherND",
                         {std::move(x), std::move(indices)},
                         {{"batch_dims", batch_dims}}});
    };
    add("elements", 0, random_elements({4, 5}), random_indices({6, 2}, 4));
    add("rows", 0, random_elements({4, 5, 3}), random_indices({2, 3, 2}, 4));
    add("batches", 1, random_elements({2, 4, 5}), random_indices({2, 3, 1}, 4));
    add("large", 0, random_elements({30, 40, 64}), random_indices({2000, 2}, 30));
    add("whole", 0, random_elements({4, 5}), random_indices({3, 0}, 1));
    for (const DType dtype : types_of_all_sizes()) {
        add(std::string(name_of(dtype)), 0, random_elements({3, 5}, dtype),
            random_indices({4, 1}, 3));
    }
    add("strings", 0, given_strings({4, 2}), random_indices({3, 1}, 4));
}

}  // namespace

std::vector<OpCase> gather_cases() {
    std::vector<OpCase> cases;
    add_gather(cases);
    add_gather_elements(cases);
    add_gather_nd(cases);
    return cases;
}

}  // namespace leat::testing

#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> einsum_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, const std::string& equation,
                              const std::vector<Shape>& shapes, DType dtype = DType::kFloat32) {
        std::vector<CaseInput> inputs;
        inputs.reserve(shapes.size());
        for (const Shape& shape : shapes) {
            inputs.push_back(random_elements(shape, dtype));
        }
        cases.push_back(make_case("Einsum", name, std::move(inputs), {{"equation", equation}}));
    };
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64,
                              DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64,
                              DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64}) {
        const std::string name(name_of(dtype));
        add(name + "_matmul", "ij,jk->ik", {{3, 4}, {4, 5}}, dtype);
        add(name + "_batch", "...ij,...jk", {{2, 3, 4}, {2, 4, 5}}, dtype);
    }
    add("transpose", "ij->ji", {{3, 4}});
    add("rows", "ij->i", {{3, 4}});
    add("all", "ijk->", {{3, 4, 2}});
    add("scalar", "->", {{}});
    add("diagonal", "...ii->...i", {{3, 5, 5}});
    add("trace", "ii", {{5, 5}});
    add("trace_of_batch", "bii->b", {{2, 5, 5}});
    add("cube", "iii->i", {{4, 4, 4}});
    add("outer", "i,j->ij", {{3}, {4}});
    add("inner", "i,i", {{7}, {7}});
    add("implicit_order", "ba,Bb", {{2, 3}, {4, 2}});
    add("ellipsis_in_the_middle", "i...j,j...->...i", {{2, 3, 4, 5}, {5, 3, 1}});
    add("ellipsis_summed", "...i->i", {{2, 3, 4}});
    add("ellipses_of_two_ranks", "...i,...i->...", {{2, 3, 4}, {3, 4}});
    add("broadcast_letter", "ij,jk->ik", {{3, 1}, {4, 5}});
    add("broadcast_batch", "bij,bjk->bik", {{1, 2, 3}, {4, 3, 2}});
    add("attention", "bqhd,bkhd->bhqk", {{2, 3, 2, 5}, {2, 4, 2, 5}});
    add("batch_matmul", "bij,bjk->bik", {{4, 3, 5}, {4, 5, 2}});
    add("weights", "bij,jk->bik", {{4, 3, 5}, {5, 2}});
    add("three", "ij,jk,kl->il", {{3, 4}, {4, 5}, {5, 2}});
    add("bilinear", "bi,oij,bj->bo", {{3, 4}, {2, 4, 5}, {3, 5}});
    add("five", "ab,bc,cd,de,ea", {{2, 3}, {3, 4}, {4, 5}, {5, 2}, {2, 2}});
    add("nine", "ab,bc,cd,de,ef,fg,gh,hi,ij->aj",
        {{2, 3}, {3, 2}, {2, 3}, {3, 2}, {2, 3}, {3, 2}, {2, 3}, {3, 2}, {2, 3}});
    add("rank_8", "abcdefgh,hgfedcba->ae", {{2, 1, 2, 1, 3, 1, 2, 2}, {2, 2, 1, 3, 1, 2, 1, 2}});
    add("spaces", " i j , j -> i ", {{3, 4}, {4}});
    add("no_terms", "ij,jk->ik", {{3, 0}, {0, 5}});
    add("empty", "ij,jk->ik", {{0, 4}, {4, 5}});
    add("long_sum", "ij,kj->ik", {{2, 3000}, {2, 3000}});
    return cases;
}

}  // namespace leat::testing

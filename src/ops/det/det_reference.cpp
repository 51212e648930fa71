#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/det/det.h"
#include "ops/elementwise/element_access.h"

namespace leat {
namespace {

// Destroys the matrix, row-major [n, n].
double determinant(std::vector<double>& matrix, int64_t n) {
    double result = 1;
    for (int64_t k = 0; k < n; ++k) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; ++i) {
            if (std::fabs(matrix[size_t(i * n + k)]) > std::fabs(matrix[size_t(pivot * n + k)])) {
                pivot = i;
            }
        }
        if (pivot != k) {
            const auto row = [&](int64_t i) { return matrix.begin() + i * n; };
            std::swap_ranges(row(k) + k, row(k) + n, row(pivot) + k);
            result = -result;
        }
        const double diagonal = matrix[size_t(k * n + k)];
        result *= diagonal;
        if (diagonal == 0) {
            return 0;
        }
        for (int64_t i = k + 1; i < n; ++i) {
            const double factor = matrix[size_t(i * n + k)] / diagonal;
            for (int64_t j = k + 1; j < n; ++j) {
                matrix[size_t(i * n + j)] -= factor * matrix[size_t(k * n + j)];
            }
        }
    }
    return result;
}

}  // namespace

Status det_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const int64_t count = y.shape.element_count();
    if (count == 0) {
        return {};
    }
    const int64_t n = x.shape[x.shape.rank() - 1];
    std::vector<double> matrix(size_t(n) * size_t(n));
    for (int64_t i = 0; i < count; ++i) {
        if (args.stop.is_asked_for()) {
            return Status::bare(StatusCode::kCancelled);
        }
        for (int64_t k = 0; k < n * n; ++k) {
            matrix[size_t(k)] = load_real(x.dtype, x.data, i * n * n + k);
        }
        store_real(y.dtype, y.data, i, determinant(matrix, n));
    }
    return {};
}

}  // namespace leat

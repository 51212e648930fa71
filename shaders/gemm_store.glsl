// One element of Y = alpha A B + beta C; `at` is its column and row, `product` its matrix, whose
// operands begin at `origins`. Nothing is done outside of Y.
void store(GemmProblem problem, uvec4 origins, uint product, uvec2 at, WIDE sum) {
    if (at.x >= problem.n || at.y >= problem.m) {
        return;
    }
    WIDE value = WIDE(problem.alpha) * sum;
    if (problem.has_c != 0u) {
        ElementsIn c = ElementsIn(operand(2u));
        value += WIDE(problem.beta) *
                 widen(c.at[origins.z + at.y * problem.c_row + at.x * problem.c_column]);
    }
    ElementsOut(operand(3u)).at[origins.w + at.y * problem.y_row + at.x] =
        epilogue(value, (product * problem.m + at.y) * problem.n + at.x);
}

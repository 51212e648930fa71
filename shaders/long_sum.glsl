// Sums of WIDE, a floating type, whose errors do not grow with the number of elements, included after
// accumulate.glsl: short sums, and their sum with what its roundings lose (two-sum, Knuth, The Art of
// Computer Programming, volume 2, 4.2.2). A sum beyond the type is infinite or NaN.
const uint kShortSum = 64;  // elements
struct LongSum {
    WIDE total;
    WIDE lost;
    WIDE part;  // the short sum that is under way
    uint part_count;
};
LongSum empty_sum() {
    return LongSum(WIDE(0), WIDE(0), WIDE(0), 0u);
}
void close_part(inout LongSum sum) {
    precise WIDE next = sum.total + sum.part;
    precise WIDE added = next - sum.total;
    precise WIDE lost = (sum.total - (next - added)) + (sum.part - added);
    sum = LongSum(next, sum.lost + lost, WIDE(0), 0u);
}
void add_to(inout LongSum sum, WIDE x) {
    sum.part += x;
    if (++sum.part_count == kShortSum) {
        close_part(sum);
    }
}
WIDE value_of(LongSum sum) {
    close_part(sum);
    return isnan(sum.lost) || isinf(sum.lost) ? sum.total : sum.total + sum.lost;
}

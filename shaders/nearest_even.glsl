// The nearest whole number of a double, the even one of two. For what roundEven is meant to be:
// Mesa's software device (22.3) rounds ties of doubles towards zero with it on CPUs without AVX-512.
double nearest_even(double x) {
    const double below = floor(x);
    const double above = x - below;  // exact
    const bool is_odd = fract(below * 0.5lf) != 0.0lf;
    const double nearest = above > 0.5lf || (above == 0.5lf && is_odd) ? below + 1.0lf : below;
    return nearest == 0.0lf ? x * 0.0lf : nearest;  // of the sign of x
}

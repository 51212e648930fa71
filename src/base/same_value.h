// Pointers, also shared ones, compared by what they point at.
#pragma once

namespace leat {

// Both are null, or what they point at is equal.
template <class Pointer>
bool have_same_value(const Pointer& a, const Pointer& b) {
    return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace leat

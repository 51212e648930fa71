// How a kernel reads element `index`, row-major, of its input 0: `loaded` the first time, `reloaded` by
// the invocation that loaded it before. Here both read x; a kernel with a prologue has functions of
// these names in the place of this text, written by src/ops/elementwise/attached_text_vulkan.cpp: they
// compute the element from other operands and keep it for those who read it again.
#define loaded(x, index) widen((x).at[index])
#define reloaded(x, index) widen((x).at[index])

// What a kernel makes of an element of its result before it is stored; `index` is the element's
// row-major number. Nothing here; a kernel with an epilogue has, in the place of this text, a function of
// the same name, written by src/ops/elementwise/attached_text_vulkan.cpp.
#ifdef STORED
#define epilogue(value, index) narrow(value)
#else
#define epilogue(value, index) (value)
#endif

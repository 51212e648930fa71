// What a kernel makes of an element of its result before it is stored; `index` is the element's
// row-major number. Nothing here; a kernel with an epilogue has, in the place of this text, a function of
// the same name, written by src/ops/elementwise/attached_text_vulkan.cpp.
// Where elements of a row follow each other, epilogue_row() finds out once what their operands are, and
// epilogue_along() is epilogue() of the element `column` behind the one that it was given.
#define EpilogueRow uint
#define epilogue_row(index) (index)
#define epilogue_along(value, row, column) epilogue(value, (row) + (column))
#ifdef STORED
#define epilogue(value, index) narrow(value)
#else
#define epilogue(value, index) (value)
#endif

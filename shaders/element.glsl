// ELEMENT: an element of ELEMENT_BITS as bits, for kernels that move elements of any type, and
// tensors of them. After push_block.glsl.
#if ELEMENT_BITS == 8
#extension GL_EXT_shader_8bit_storage : require
#define ELEMENT uint8_t
#define ELEMENT_BYTES 1
#define ELEMENT_OF_WORDS(words) uint8_t((words).x)
#elif ELEMENT_BITS == 16
#extension GL_EXT_shader_16bit_storage : require
#define ELEMENT uint16_t
#define ELEMENT_BYTES 2
#define ELEMENT_OF_WORDS(words) uint16_t((words).x)
#elif ELEMENT_BITS == 32
#define ELEMENT uint
#define ELEMENT_BYTES 4
#define ELEMENT_OF_WORDS(words) (words).x
#elif ELEMENT_BITS == 64
#define ELEMENT uvec2
#define ELEMENT_BYTES 8
#define ELEMENT_OF_WORDS(words) (words).xy
#else
#define ELEMENT uvec4
#define ELEMENT_BYTES 16
#define ELEMENT_OF_WORDS(words) (words)
#endif

layout(buffer_reference, scalar, buffer_reference_align = ELEMENT_BYTES) readonly buffer In {
    ELEMENT at[];
};
layout(buffer_reference, scalar, buffer_reference_align = ELEMENT_BYTES) writeonly buffer Out {
    ELEMENT at[];
};

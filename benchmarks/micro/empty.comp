// Does nothing: what a dispatch costs at least.
#version 460
layout(local_size_x = 64) in;
void main() {}

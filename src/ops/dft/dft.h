// DFT and STFT: discrete Fourier transforms along an axis, of any length, in O(n log n).
//
//   DFT(x, dft_length?, axis?)
//     x : [.., a, .., 1] (real) or [.., a, .., 2] (real and imaginary parts)
//     y[k] = sum of x[n] exp(-2 pi i k n / N) for n < N; N = dft_length, else the extent of the
//     axis. x is cut, or continued with zeros. inverse=1: exp(+..), divided by N.
//     onesided=1: x is real and y has k <= N / 2; with inverse=1 x is that half of a spectrum and y
//     is real, [.., N, .., 1], where N = 2 * (extent - 1) unless dft_length says otherwise.
//     axis: i64, default -2; never the last one. dft_length: i32 or i64, one element, >= 1.
//   STFT(signal, frame_step, window?, frame_length?)
//     signal : [batch, length, 1 or 2], or of real numbers [batch, length], as exporters write it
//     window : [frame]; y : [batch, frames, bins, 2]
//     y[b, f] = DFT of signal[b, f * step ..] * window; frames = (length - frame) / step + 1.
//     onesided=1 (default): bins = frame / 2 + 1, also of a complex signal; else frame.
//   Floating-point elements: f16, bf16, f32, f64, one type for all of a node.
// Computed in f64 with exact roots of unity, and rounded once. A prime factor p of N costs O(N p);
// where p is large the sum becomes a convolution (Bluestein, 1970). ONNX DFT-20, STFT-17.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "graph/op_def.h"

namespace leat {

Status dft_reference(const ReferenceArgs& args);
Status stft_reference(const ReferenceArgs& args);

// The transform of one length. Safe to call concurrently on plans of one's own.
class FourierPlan {
  public:
    // is_inverse: the sign of the exponent; nothing is divided. length >= 1.
    FourierPlan(int64_t length, bool is_inverse);

    // In place, `length` elements.
    void run(std::complex<double>* x);

  private:
    using Complex = std::complex<double>;

    void run_factors(
        const Complex* from, int64_t stride, int64_t length, size_t factor, Complex* to);
    void run_chirp(Complex* x);

    int64_t length_;
    bool is_inverse_;
    std::vector<int64_t> factors_;  // empty: by convolution
    std::vector<Complex> roots_;    // exp(-+ 2 pi i k / length)
    std::vector<Complex> input_;
    std::vector<Complex> terms_;  // of one butterfly
    // Of the convolution: exp(-+ pi i k^2 / length), the transform of its conjugate, and plans of a
    // power of two.
    std::vector<Complex> chirp_;
    std::vector<Complex> kernel_;
    std::vector<Complex> padded_;
    std::vector<FourierPlan> inner_;  // forward, inverse
};

}  // namespace leat

// combine.hpp: how `accumulate` combines two values, eight bytes at a time.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/both.hpp"
#include "core/half.hpp"
#include "holdfast/status.hpp"

namespace holdfast {

template <class T>
HOLDFAST_BOTH constexpr T combine_elements(T a, T b, Combine how) {
  switch (how) {
    case Combine::min: return b < a ? b : a;
    case Combine::max: return a < b ? b : a;
    case Combine::add: break;
  }
  return static_cast<T>(a + b);
}

/// How `accumulate` combines: the elements of the value given, times `scale`, into those that are there.
struct Combining {
  Combine how = Combine::add;
  Element element = Element::u64;
  double scale = 1;    ///< for sums of floating-point elements
  bool alone = false;  ///< nothing is there: the value given, scaled
};

/// The same for floating-point elements. Scaled sums are rounded once, on every machine.
template <class T>
HOLDFAST_BOTH inline T combine_floats(T a, T b, const Combining& with) {
  if (with.scale == 1) return combine_elements(a, b, with.how);
  return std::fma(b, static_cast<T>(with.scale), a);
}

/// Each element of `kBits` bits in a word.
template <unsigned kBits, class F>
HOLDFAST_BOTH inline std::uint64_t for_each_part(std::uint64_t a, std::uint64_t b, const F& combine) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
  std::uint64_t word = 0;
  for (unsigned at = 0; at < 64; at += kBits) {
    word |= static_cast<std::uint64_t>(combine(a >> at & kMask, b >> at & kMask)) << at;
  }
  return word;
}

/// Signed sums are taken as unsigned, so they wrap.
template <class T>
HOLDFAST_BOTH inline std::uint64_t combine_halves(std::uint64_t a, std::uint64_t b, Combine how) {
  return for_each_part<32>(a, b, [how](std::uint64_t x, std::uint64_t y) {
    return static_cast<std::uint32_t>(combine_elements(static_cast<T>(x), static_cast<T>(y), how));
  });
}

HOLDFAST_BOTH inline std::uint64_t combine_f32(std::uint64_t a, std::uint64_t b, const Combining& with) {
  return for_each_part<32>(a, b, [&with](std::uint64_t x, std::uint64_t y) {
    const float left = std::bit_cast<float>(static_cast<std::uint32_t>(x));
    const float right = std::bit_cast<float>(static_cast<std::uint32_t>(y));
    return std::bit_cast<std::uint32_t>(combine_floats(left, right, with));
  });
}

HOLDFAST_BOTH inline std::uint64_t combine_f16(std::uint64_t a, std::uint64_t b, const Combining& with) {
  return for_each_part<16>(a, b, [&with](std::uint64_t x, std::uint64_t y) {
    const float left = widened(Half{static_cast<std::uint16_t>(x)});
    return to_half(combine_floats(left, widened(Half{static_cast<std::uint16_t>(y)}), with)).bits;
  });
}

HOLDFAST_BOTH inline std::uint64_t combine_bf16(std::uint64_t a, std::uint64_t b, const Combining& with) {
  return for_each_part<16>(a, b, [&with](std::uint64_t x, std::uint64_t y) {
    const float left = widened(BFloat16{static_cast<std::uint16_t>(x)});
    return to_bfloat16(combine_floats(left, widened(BFloat16{static_cast<std::uint16_t>(y)}), with)).bits;
  });
}

/// Combines the elements in one word of a value. Padding is zero in both words, and stays zero.
HOLDFAST_BOTH inline std::uint64_t combine_word(std::uint64_t a, std::uint64_t b, const Combining& with) {
  const Combine how = with.how;
  const bool adds = how == Combine::add;
  if (with.alone) a = 0;
  switch (with.element) {
    case Element::u32: return combine_halves<std::uint32_t>(a, b, how);
    case Element::i32: return adds ? combine_halves<std::uint32_t>(a, b, how) : combine_halves<std::int32_t>(a, b, how);
    case Element::u64: return combine_elements(a, b, how);
    case Element::i64:
      return adds ? a + b
                  : std::bit_cast<std::uint64_t>(
                        combine_elements(std::bit_cast<std::int64_t>(a), std::bit_cast<std::int64_t>(b), how));
    case Element::f16: return combine_f16(a, b, with);
    case Element::bf16: return combine_bf16(a, b, with);
    case Element::f32: return combine_f32(a, b, with);
    case Element::f64:
      return std::bit_cast<std::uint64_t>(combine_floats(std::bit_cast<double>(a), std::bit_cast<double>(b), with));
  }
  return a;
}

/// Up to eight bytes of a user's array, zero-padded; the array need not be aligned.
HOLDFAST_BOTH inline std::uint64_t load_bytes(const std::byte* from, std::size_t bytes) {
  std::uint64_t word = 0;
  if (bytes >= 8) {
    memcpy(&word, from, 8);
  } else {
    memcpy(&word, from, bytes);
  }
  return word;
}

/// `bytes` bytes of a word, from `from` on; they lie in it.
HOLDFAST_BOTH constexpr std::uint64_t part_of_word(std::uint64_t word, unsigned from, std::size_t bytes) {
  const std::uint64_t part = word >> (8 * from);
  return bytes < 8 ? part & ((std::uint64_t{1} << (8 * bytes)) - 1) : part;
}
/// The word with such a part in their place.
HOLDFAST_BOTH constexpr std::uint64_t with_part(std::uint64_t word, std::uint64_t part, unsigned from,
                                                std::size_t bytes) {
  return word ^ ((part_of_word(word, from, bytes) ^ part) << (8 * from));
}

HOLDFAST_BOTH inline void store_bytes(std::byte* to, std::uint64_t word, std::size_t bytes) {
  memcpy(to, &word, bytes < 8 ? bytes : 8);
}

}  // namespace holdfast

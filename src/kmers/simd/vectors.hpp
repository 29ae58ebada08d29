// vectors.hpp: vectors as the compiler has them, of a size that the instruction set gives.
#pragma once

#include <cstdint>
#include <cstring>

namespace holdfast::kmers {

/// `Bytes` bytes of elements `T`.
template <class T, int Bytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(Bytes)));
};

template <class V>
V load(const void* from) {
  V vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

template <class V>
void store(void* to, const V& vector) {
  std::memcpy(to, &vector, sizeof vector);
}

/// 0, 1, 2, …
template <class V, class T>
V iota() {
  V vector{};
  for (unsigned i = 0; i < sizeof(V) / sizeof(T); ++i) vector[i] = static_cast<T>(i);
  return vector;
}

}  // namespace holdfast::kmers

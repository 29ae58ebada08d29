// rows.hpp: batches over typed ranges (std::vector, std::array, std::span), for every kind of table.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>

#include "holdfast/batch.hpp"
#include "holdfast/error.hpp"
#include "holdfast/options.hpp"

namespace holdfast {

namespace detail {

/// std::span and std::string_view are copyable, but do not contain the elements they refer to.
template <class T>
inline constexpr bool kRefers = std::is_pointer_v<T> || std::ranges::borrowed_range<T>;

}  // namespace detail

/// An element that is stored as its bytes (padding too): a number, an array of them, a struct without pointers.
template <class T>
concept StoredAsBytes = std::is_trivially_copyable_v<T> && !detail::kRefers<T>;

/// An element that can be a key: 8 bytes, or another multiple of 8 up to 128.
template <class T>
concept BytesOfAKey = sizeof(T) % 8 == 0 && sizeof(T) <= 128;

/// An element whose equal values have equal bytes: no floating-point number (0 and -0), and no padding.
template <class T>
concept EqualByBytes = std::has_unique_object_representations_v<T>;

/// Contiguous rows.
template <class R>
concept ValueRows =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && StoredAsBytes<std::ranges::range_value_t<R>>;

/// Rows of keys.
template <class R>
concept KeyRows =
    ValueRows<R> && BytesOfAKey<std::ranges::range_value_t<R>> && EqualByBytes<std::ranges::range_value_t<R>>;

/// Rows that can be written.
template <class R>
concept WritableRows = ValueRows<R> && !std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>;

namespace detail {

/// The element type of `accumulate` for a type of value; `is` says whether there is one.
template <class T>
struct ElementOf {
  static constexpr bool is = std::is_arithmetic_v<T> && sizeof(T) >= 4 && sizeof(T) <= 8 && !std::same_as<T, bool>;
  static constexpr Element value = std::floating_point<T> ? (sizeof(T) == 4 ? Element::f32 : Element::f64)
                                   : sizeof(T) == 4       ? (std::is_signed_v<T> ? Element::i32 : Element::u32)
                                                          : (std::is_signed_v<T> ? Element::i64 : Element::u64);
};
template <class T, std::size_t n>
struct ElementOf<std::array<T, n>> : ElementOf<T> {};

}  // namespace detail

/// Rows of numbers, or of arrays of them.
template <class R>
concept NumberRows = ValueRows<R> && detail::ElementOf<std::remove_cv_t<std::ranges::range_value_t<R>>>::is;

/// A pointer to contiguous keys: bytes, or elements that can be keys. int* does not compile.
class KeyPointer {
 public:
  KeyPointer(std::nullptr_t) {}
  template <class T>
  requires std::is_void_v<T> KeyPointer(T* keys) : at_(keys) {}
  template <class T>
  requires(sizeof(T) == 1 || BytesOfAKey<T>) KeyPointer(T* keys) : at_(keys) {}
  const void* get() const { return at_; }

 private:
  const void* at_ = nullptr;
};

/// The operations of a table over ranges. Each throws as `Table::run`, and InvalidArgument if an element has another size
/// than the table's keys or values, or if a range has another number of rows than `keys`; then nothing is done. `statuses`
/// and `found` have a row for each key, or none. For keys and values of any length: strings.hpp. For sets, fill a Batch.
template <class Table>
class TypedBatches {
 public:
  template <KeyRows Keys, ValueRows Values>
  BatchResult insert(const Keys& keys, const Values& values, std::span<Status> statuses = {}) {
    return change(Op::insert, keys, values, statuses);
  }
  template <KeyRows Keys, ValueRows Values>
  BatchResult insert_or_assign(const Keys& keys, const Values& values, std::span<Status> statuses = {}) {
    return change(Op::insert_or_assign, keys, values, statuses);
  }
  template <KeyRows Keys, ValueRows Values>
  BatchResult assign(const Keys& keys, const Values& values, std::span<Status> statuses = {}) {
    return change(Op::assign, keys, values, statuses);
  }
  /// Combines each number of a value with the present one: adds them, or takes the smaller or larger.
  template <KeyRows Keys, NumberRows Values>
  BatchResult accumulate(const Keys& keys, const Values& values, Combine combine = Combine::add,
                         std::span<Status> statuses = {}) {
    Batch batch = changing(Op::accumulate, keys, values, statuses);
    batch.accumulate = Accumulate{
        .combine = combine, .element = detail::ElementOf<std::remove_cv_t<std::ranges::range_value_t<Values>>>::value};
    return self().run(batch);
  }
  /// Reads values; zeros for absent keys.
  template <KeyRows Keys, WritableRows Values>
  BatchResult find(const Keys& keys, Values&& values, std::span<bool> found = {}) {
    Batch batch = asking(Op::find, keys, found);
    batch.out = rows("values", values, batch.size, self().value_bytes());
    return self().run(batch);
  }
  template <KeyRows Keys>
  BatchResult contains(const Keys& keys, std::span<bool> found) {
    return self().run(asking(Op::contains, keys, found));
  }
  template <KeyRows Keys>
  BatchResult erase(const Keys& keys, std::span<Status> statuses = {}) {
    return self().run(of_keys(Op::erase, keys, statuses));
  }

 protected:
  TypedBatches() = default;
  ~TypedBatches() = default;
  TypedBatches(TypedBatches&&) = default;
  TypedBatches& operator=(TypedBatches&&) = default;

 private:
  Table& self() { return static_cast<Table&>(*this); }

  /// Returns the rows, if there are `n` of `bytes` each; none are needed if `bytes` is 0.
  template <class R>
  static auto rows(const char* what, R& range, std::size_t n, std::uint32_t bytes) {
    constexpr std::size_t given = sizeof(std::ranges::range_value_t<R>);
    if (given != bytes) {
      throw InvalidArgument(std::string(what) + " has elements of " + std::to_string(given) +
                            " bytes, and those of the table have " +
                            (bytes == kVariableBytes ? "any number" : std::to_string(bytes)) +
                            ": give elements of as many, or fill a Batch");
    }
    of_size(what, std::ranges::size(range), n);
    return std::ranges::data(range);
  }
  static void of_size(const char* what, std::size_t given, std::size_t n) {
    if (given == n) return;
    throw InvalidArgument(std::string(what) + " has " + std::to_string(given) + " rows, and keys has " +
                          std::to_string(n) + ": give one for each key");
  }

  template <class Keys>
  Batch of_keys(Op op, const Keys& keys, std::span<Status> statuses) {
    Batch batch;
    batch.op = op;
    batch.size = std::ranges::size(keys);
    batch.keys = rows("keys", keys, batch.size, self().key_bytes());
    if (!statuses.empty()) of_size("statuses", statuses.size(), batch.size);
    batch.statuses = statuses.data();
    return batch;
  }
  template <class Keys>
  Batch asking(Op op, const Keys& keys, std::span<bool> found) {
    Batch batch = of_keys(op, keys, {});
    if (!found.empty()) of_size("found", found.size(), batch.size);
    batch.found = found.data();
    return batch;
  }
  template <class Keys, class Values>
  Batch changing(Op op, const Keys& keys, const Values& values, std::span<Status> statuses) {
    Batch batch = of_keys(op, keys, statuses);
    batch.values = rows("values", values, batch.size, self().value_bytes());
    return batch;
  }
  template <class Keys, class Values>
  BatchResult change(Op op, const Keys& keys, const Values& values, std::span<Status> statuses) {
    return self().run(changing(op, keys, values, statuses));
  }
};

}  // namespace holdfast

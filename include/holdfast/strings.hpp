// strings.hpp: batches over strings, for tables whose keys and values are of any length.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/batch.hpp"
#include "holdfast/error.hpp"

namespace holdfast {

/// Strings, or types convertible to std::string_view: std::vector<std::string>, std::array<const char*, 3>, Strings.
template <class R>
concept StringRows =
    std::ranges::input_range<R> && std::convertible_to<std::ranges::range_reference_t<R>, std::string_view>;

/// Strings packed as a batch takes them (VariableLength): their bytes one after another, and where each begins.
class Strings {
 public:
  Strings() = default;
  template <StringRows R>
  explicit Strings(const R& rows) {
    for (const std::string_view row : rows) add(row);
  }
  void add(std::string_view row) {
    bytes_.append(row);
    offsets_.push_back(bytes_.size());
  }

  std::size_t size() const { return offsets_.size() - 1; }
  const char* bytes() const { return bytes_.data(); }               ///< of all
  const std::uint64_t* offsets() const { return offsets_.data(); }  ///< (size + 1,)

 private:
  std::string bytes_;
  std::vector<std::uint64_t> offsets_{0};
};

/// The operations of a table of strings. Each throws as `Table::run`, and InvalidArgument if the
/// table's keys and values have a fixed length, or if an argument has another number of rows
/// than `keys`; then nothing is done. `statuses` and `found` have a row for each key, or none.
template <class Table>
class StringBatches {
 public:
  template <StringRows Keys, StringRows Values>
  BatchResult insert(const Keys& keys, const Values& values, std::span<Status> statuses = {}) {
    return change(Op::insert, keys, values, statuses);
  }
  template <StringRows Keys, StringRows Values>
  BatchResult insert_or_assign(const Keys& keys, const Values& values, std::span<Status> statuses = {}) {
    return change(Op::insert_or_assign, keys, values, statuses);
  }
  template <StringRows Keys, StringRows Values>
  BatchResult assign(const Keys& keys, const Values& values, std::span<Status> statuses = {}) {
    return change(Op::assign, keys, values, statuses);
  }
  /// Reads values: `values[i]` belongs to keys[i]; `values.has(i)` says whether the key is present.
  template <StringRows Keys>
  BatchResult find(const Keys& keys, Blobs& values, std::span<bool> found = {}) {
    return run(Op::find, Strings(keys), nullptr, &values, {}, found);
  }
  template <StringRows Keys>
  BatchResult contains(const Keys& keys, std::span<bool> found) {
    return run(Op::contains, Strings(keys), nullptr, nullptr, {}, found);
  }
  template <StringRows Keys>
  BatchResult erase(const Keys& keys, std::span<Status> statuses = {}) {
    return run(Op::erase, Strings(keys), nullptr, nullptr, statuses, {});
  }

 protected:
  StringBatches() = default;
  ~StringBatches() = default;
  StringBatches(StringBatches&&) = default;
  StringBatches& operator=(StringBatches&&) = default;

 private:
  static void of_size(const char* what, std::size_t given, std::size_t n) {
    if (given == n) return;
    throw InvalidArgument(std::string(what) + " has " + std::to_string(given) + " rows, and keys has " +
                          std::to_string(n) + ": give one for each key");
  }
  template <class Keys, class Values>
  BatchResult change(Op op, const Keys& keys, const Values& values, std::span<Status> statuses) {
    const Strings packed(values);
    return run(op, Strings(keys), &packed, nullptr, statuses, {});
  }
  BatchResult run(Op op, const Strings& keys, const Strings* values, Blobs* blobs, std::span<Status> statuses,
                  std::span<bool> found) {
    if (values != nullptr) of_size("values", values->size(), keys.size());
    if (!statuses.empty()) of_size("statuses", statuses.size(), keys.size());
    if (!found.empty()) of_size("found", found.size(), keys.size());
    return static_cast<Table&>(*this).run(
        {.op = op,
         .size = keys.size(),
         .keys = keys.bytes(),
         .values = values != nullptr ? values->bytes() : nullptr,
         .statuses = statuses.data(),
         .found = found.data(),
         .variable = VariableLength{.key_offsets = keys.offsets(),
                                    .value_offsets = values != nullptr ? values->offsets() : nullptr,
                                    .blobs = blobs}});
  }
};

}  // namespace holdfast

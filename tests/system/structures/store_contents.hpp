// store_contents.hpp: keys and values of stores under crashes and faults, in a form in which what is torn, lost or another key's is seen.
#pragma once

#include <cstdint>
#include <string>

#include "store_subject.hpp"

namespace holdfast::proof {

inline constexpr const char *kStoreFile = "/a.hold", *kCopyFile = "/b.hold", *kStoreName = "s";
/// Of an item whose expiry was replaced: a time that does not come.
inline constexpr std::uint64_t kLateExpiry = std::uint64_t{1} << 47;

inline std::string key_text(std::uint64_t key) { return "key " + std::to_string(key); }
/// Names its key and its version again and again.
std::string value_text(std::uint64_t key, std::uint64_t version);

/// All items, each also found by its key; adds what does not fit to `wrong`.
Items store_items(const Store& store, std::string& wrong);
/// What is wrong with a store between two states, either of which may be null.
std::string compare_store(const Items& found, const StoreState* before, const StoreState* after);

}  // namespace holdfast::proof

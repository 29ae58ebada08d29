// runner.hpp: the operations of a caller of a modelled store, and its recovery.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "store/model/explore.hpp"
#include "store/protocol/evict.hpp"
#include "store/protocol/piece.hpp"
#include "store/protocol/recover.hpp"
#include "store/protocol/search.hpp"
#include "structures/gphash/model/oracle.hpp"

namespace holdfast::store::model {

namespace oracle = gphash::model;
using oracle::kAbsent;
using oracle::kTorn;

inline constexpr unsigned kMostValueWords = 2 * kMostCellWords;
inline constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};
inline constexpr std::uint64_t kFirstAfterRecovery =
    1000;  ///< numbers that no one has drawn before: they are reserved durably

/// Item `number` has this in word `i` of its value: torn ones show.
inline std::uint64_t plain_word(unsigned number, unsigned i) { return std::uint64_t{number} * 256 + i; }

/// The value of item kForger has, from the second line of its cell on, the bytes of an item of key 0 that was never stored.
inline constexpr unsigned kForgedAt = kLineWords - kHeaderWords - 1, kForgedNumber = 99;

inline std::uint64_t forged_word(unsigned i) {
  constexpr std::uint64_t kSequence = 900;
  Header header;
  header.key_bytes = 8;
  header.value_bytes = 8;
  const auto content = [](std::uint64_t at) { return at == kHeaderWords ? 0 : plain_word(kForgedNumber, 0); };
  const std::uint64_t sum =
      sum_of(header.words() - kHeaderWords, [&](std::uint64_t i) { return content(kHeaderWords + i); });
  header.checksum = checksum_of(kSequence, header, sum);
  const std::uint64_t words[kHeaderWords] = {kSequence, State::live(0).word, header.value_word(), header.key_word()};
  return i < kHeaderWords ? words[i] : content(i);
}

inline std::uint64_t value_word(unsigned number, unsigned i) {
  return number == kForger && i >= kForgedAt ? forged_word(i - kForgedAt) : plain_word(number, i);
}

inline oracle::State state_of(std::uint64_t number, std::uint64_t expiry) {
  return oracle::both_columns(number, expiry);
}

/// The operations of a caller on a world.
class Runner {
 public:
  explicit Runner(World& world) : world_(world), parts_(world) {}

  Change run(const Operation& operation, oracle::State& read) {
    parts_.guess_from_look_up(operation.is_looked_up);
    const KeyBytes key{operation.key};
    switch (operation.op) {
      case Op::set_large: return set_large(operation);
      case Op::set:
      case Op::add:
      case Op::replace:
      case Op::increase: return put(operation);
      case Op::erase: return store::erase(parts_, key.key());
      case Op::evict: return evict(operation.key);
      case Op::touch: return store::touch(parts_, key.key(), operation.number);
      case Op::get_and_touch: return get_and_touch(operation, read);
      case Op::flush_all: parts_.flush_all(); return Change::touched;
      case Op::plan_flush: parts_.flush_all_at(operation.number); return Change::touched;
      case Op::pass_time: parts_.pass_time(operation.number); return Change::touched;
      case Op::find: break;
    }
    read = find(operation.key);
    return read == kAbsent ? Change::not_found : Change::touched;
  }

  /// What the index names for the keys of operations, up to the first that is not to be looked up.
  void look_up(std::span<const Operation> operations) {
    for (const Operation& operation : operations) {
      if (!operation.is_looked_up) return;
      const KeyBytes key{operation.key};
      parts_.look_up(key.key());
    }
  }

  /// Copies an item, for `find`: `found` becomes its state.
  auto copier(oracle::State& found) {
    return [this, &found](const Header& header, State state, std::uint64_t sequence, const Cell& cell) {
      std::uint64_t number = kNoNumber;
      bool whole = true;
      const auto read = [&](const std::uint64_t* words, std::uint64_t begin, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
          const std::uint64_t word = parts_.memory().load(words + i);
          if (number == kNoNumber) number = word / 256;
          whole = whole && word == value_word(static_cast<unsigned>(number), static_cast<unsigned>(begin + i));
        }
      };
      bool is_its = true;
      if (header.chunks == 0) {
        read(cell.words + header.value_at(), 0, header.value_words());
      } else {
        is_its = visit_chunks(
            parts_.memory(), cell, header, sequence, parts_.chunk_words(),
            [&](Location location) { return parts_.at(location); }, read);
      }
      found = whole ? state_of(number, state.expiry()) : kTorn;
      return is_its;
    };
  }

  oracle::State find(unsigned key) {
    const KeyBytes bytes{key};
    oracle::State found = kAbsent;
    return store::find(parts_, bytes.key(), copier(found)).none() ? kAbsent : found;
  }

  void flush_all_at(std::uint64_t time) { parts_.flush_all_at(time); }
  void pass_time(std::uint64_t time) { parts_.pass_time(time); }

  Recovered recover() {
    parts_.read_record(kFirstAfterRecovery);
    Recovered recovered;
    const auto key_of = [](const std::uint64_t* cell, const Header& header) {
      return Key{reinterpret_cast<const std::byte*>(cell + header.key_at()), header.key_bytes};
    };
    std::vector<Cell> items, free;
    for (unsigned piece = 0; piece < world_.shape().pieces; ++piece) {
      const PieceWord entry{parts_.memory().load(world_.view().entry(piece + 1))};
      if (!entry.none()) parts_.set_class(piece, entry.size_class());
    }
    for (unsigned line = 0; line < world_.shape().pieces * kPieceLines; ++line) {
      const Cell cell = parts_.cell_at(line);
      if (cell.size == 0 || line % (8 * cell.size / kLineBytes) != 0) continue;
      Header header;
      bool is_free = false;
      if (look(parts_, parts_.moment(), cell, header, is_free, recovered)) {
        items.push_back(cell);
      } else if (is_free) {
        free.push_back(cell);
      } else {
        parts_.set_damaged(cell);
      }
    }
    const auto header_of = [&](const Cell& cell) {
      return Header::of(parts_.memory().load(cell.words + kValueWord), parts_.memory().load(cell.words + kKeyWord));
    };
    for (const Cell& cell : items) {
      for (unsigned chunk = 0; chunk < header_of(cell).chunks; ++chunk) {
        const Location its = location_of_chunk(parts_.memory(), cell.words, header_of(cell), chunk);
        std::erase_if(free, [&](const Cell& other) { return other.location == its; });
      }
    }
    for (const Cell& cell : free) parts_.give(cell);
    for (const Cell& cell : items) enter(parts_, key_of(cell.words, header_of(cell)), cell, recovered);
    end_recovery(parts_);
    return recovered;
  }

 private:
  Change get_and_touch(const Operation& operation, oracle::State& read) {
    const KeyBytes key{operation.key};
    State state;
    const Change change = store::get_and_touch(parts_, key.key(), operation.number, copier(read), state);
    read = change == Change::touched ? state_of(read & 0xffffffff, state.expiry()) : kAbsent;
    return change;
  }

  static Content content_of(const Operation& operation, const Key& key, const std::uint64_t* value) {
    Content content;
    content.key = key.data;
    content.key_bytes = key.bytes;
    content.value = reinterpret_cast<const std::byte*>(value);
    content.value_bytes = 8 * operation.words;
    content.expiry = operation.expiry;
    return content;
  }

  Change put(const Operation& operation) {
    std::uint64_t value[kMostValueWords] = {};
    const KeyBytes key{operation.key};
    const Content content = content_of(operation, key.key(), value);
    const auto decide = [&](const Current& old, Content& next) {
      if (operation.op == Op::add && old.is_there()) return Change::exists;
      if (operation.op == Op::replace && !old.is_there()) return Change::not_found;
      unsigned number = operation.number;
      if (operation.op == Op::increase && old.is_there()) {
        number += static_cast<unsigned>(parts_.memory().load(old.cell.words + old.header.value_at()) / 256);
      }
      for (unsigned i = 0; i < operation.words; ++i) value[i] = value_word(number, i);
      next = content;
      return old.is_there() ? Change::replaced : Change::inserted;
    };
    return store::put(parts_, key.key(), content.header().words(), decide);
  }

  Change set_large(const Operation& operation) {
    const KeyBytes key{operation.key};
    Content content;
    content.key = key.key().data;
    content.key_bytes = key.key().bytes;
    content.value_bytes = 8 * operation.words;
    content.expiry = operation.expiry;
    const auto chunk_words = static_cast<unsigned>(parts_.chunk_words());
    NewItem item;
    if (!reserve_item(parts_, content, (operation.words + chunk_words - 1) / chunk_words, item))
      return Change::no_space;
    visit_value(parts_, item, [&](std::uint64_t* words, std::uint64_t first, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) {
        parts_.memory().store(words + i, value_word(operation.number, static_cast<unsigned>(first + i)));
      }
    });
    sum_item(parts_, item);
    return store::put(parts_, key.key(), item, [](const Current& old, Content&) {
      return old.is_there() ? Change::replaced : Change::inserted;
    });
  }

  Change evict(unsigned key) {
    const KeyBytes bytes{key};
    const auto candidates = parts_.candidates(bytes.key());
    Glance seen;
    std::uint64_t its_key = 0;
    if (candidates.size == 0 || !glance(parts_.memory(), candidates.cells[0], seen, &its_key)) return Change::not_found;
    const KeyBytes its{its_key};
    const bool is_done = store::evict(parts_, its.key(), candidates.cells[0], seen, [](State) { return true; });
    return is_done ? Change::erased : Change::not_found;
  }

  World& world_;
  ModelParts parts_;
};

}  // namespace holdfast::store::model

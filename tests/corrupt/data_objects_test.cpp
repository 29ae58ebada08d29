// data_objects_test.cpp: regions, logs, transactions and checkpoints, damaged: undo records, tails, flags, headers and words of copies, what
// lies where nothing counts. What opens is right, a transaction that cannot be undone changes nothing, and no other object is harmed.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "checkpoint/layout.hpp"
#include "data_objects.hpp"
#include "fixture.hpp"
#include "log/log_header.hpp"
#include "log/protocol/transaction.hpp"
#include "pool/copies.hpp"
#include "support/pool_bytes.hpp"
#include "support/random.hpp"

namespace holdfast::test::corrupt {
namespace {

using checkpoint::CopyHeader;

std::uint64_t data_at(std::uint32_t object, unsigned extent = 0) {
  return directory_in(data_bytes()).extents_of(object, log::kDataRole).at(extent).offset;
}

/// Where a word of an entry of the undo log is.
std::uint64_t undo_word(std::uint64_t place, std::uint32_t entry, std::uint32_t word) {
  const log::LogShape shape = undo_shape();
  return data_at(kUndo) + log::entries_at(shape) +
         4 * (shape.first(place, entry) + std::uint64_t{word} * shape.stride());
}

template <class Word>
void put(std::string& bytes, std::uint64_t at, Word word) {
  std::memcpy(bytes.data() + at, &word, sizeof word);
}

struct Damage {
  std::string name;
  std::function<void(std::string&)> make;
};

/// Each on both media. `right`: what must be true of what it comes to, besides.
void expect_each(const std::string& group, const std::vector<Damage>& all, std::uint32_t victim,
                 const std::function<std::string(const Found&)>& right) {
  data_bytes();
  expect_sound(
      group, 2 * all.size(),
      [&](std::uint64_t i) {
        std::string bytes = data_bytes();
        all[i / 2].make(bytes);
        Found found = use(bytes, victim, i % 2 == 1);
        found.outcome.wrong += right(found);
        return found.outcome;
      },
      [&](std::uint64_t i) { return all[i / 2].name + (i % 2 == 1 ? ", file" : ", shm"); });
}

std::string refused_undo(const Found& found) {
  const auto at = found.refused.find(kUndo);
  if (at == found.refused.end()) return "it is not refused";
  return at->second.find("damaged") == std::string::npos ? "the error does not say that it is damaged: " + at->second
                                                         : "";
}

/// An undo record that no update of this region made: nothing is undone, by no part of the log.
TEST(CorruptData, UndoRecordsThatNoUpdateMade) {
  const auto undo = [](std::uint64_t offset,
                       std::uint32_t size) {  // as Undo::of, which takes only what an update makes
    return log::Undo{{static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32) | size << 16}};
  };
  const std::uint64_t words = 2 * kRegionWords;  // of 4 bytes
  const std::vector<std::pair<std::string, log::Undo>> records = {
      {"of no word", undo(10, 0)},
      {"of more words than an entry has", undo(10, 3)},
      {"of as many as there may be", undo(10, 0xffff)},
      {"at the end", undo(words, 1)},
      {"over the end", undo(words - 1, 2)},
      {"beyond 2^32", undo((std::uint64_t{1} << 32) + 10, 2)},
      {"beyond all", undo((std::uint64_t{1} << 48) - 1, 2)},
      {"that wraps", undo((std::uint64_t{1} << 48) - 2, 2)}};
  std::vector<Damage> all;
  for (const auto& [name, record] : records) {
    for (const std::uint64_t place : {0u, 33u}) {
      for (const std::uint32_t entry : {0u, kUpdates - 1}) {
        all.push_back(
            {name + ", entry " + std::to_string(entry) + " of place " + std::to_string(place), [=](std::string& bytes) {
               for (std::uint32_t k = 0; k < log::kUndoWords; ++k) {
                 put(bytes, undo_word(place, entry, k), record.words[k]);
               }
             }});
      }
    }
  }
  expect_each("undo_records", all, kUndo, refused_undo);
}

TEST(CorruptData, TailsAndFlagsOfTransactions) {
  std::vector<Damage> all;
  for (const std::uint64_t place : {0u, 1u, 33u}) {
    for (unsigned bit = 0; bit < 32; ++bit) {
      all.push_back({"bit " + std::to_string(bit) + " of the tail of place " + std::to_string(place),
                     [=](std::string& bytes) { flip(bytes, (data_at(kUndo) + log::kTailsAt + 4 * place) * 8 + bit); }});
    }
  }
  for (const std::uint32_t number : {99u, 0xff'ffffu, 1u << 23, std::uint32_t{kUndo}, std::uint32_t{kCheckpoint}}) {
    for (const std::uint32_t flag : {number, log::flag_of(number)}) {
      all.push_back({"flag " + std::to_string(flag), [=](std::string& bytes) { put(bytes, data_at(kUndo), flag); }});
    }
  }
  for (unsigned bit = 0; bit < 32;
       ++bit) {  // one of them would say that there is no transaction, but for its check bits
    all.push_back({"bit " + std::to_string(bit) + " of the flag",
                   [=](std::string& bytes) { flip(bytes, data_at(kUndo) * 8 + bit); }});
  }
  expect_each("transactions", all, kUndo, refused_undo);
}

/// What lies behind the entries that count, as a half-written entry leaves it, or another object before.
TEST(CorruptData, WhatLiesBehindTheTailIsNothing) {
  std::vector<Damage> all;
  for (const std::uint32_t object : {kUndo, kThreads, kPartitions}) {
    const auto header = [object] {
      pool::ObjectPage page;
      std::memcpy(&page, data_bytes().data() + page_in(data_bytes(), object), sizeof page);
      log::LogHeader found;
      std::memcpy(&found, page.header, sizeof found);
      return found;
    };
    for (const std::uint32_t word : {1u, 0xffff'ffffu, 0x0100'0001u, 0x4843'4b43u}) {
      all.push_back({"words " + std::to_string(word) + " in log " + std::to_string(object), [=](std::string& bytes) {
                       const log::LogShape shape = log::shape_of(header());
                       for (std::uint64_t place = 0; place < shape.places(); ++place) {
                         std::uint32_t tail = 0;
                         std::memcpy(&tail, bytes.data() + data_at(object) + log::kTailsAt + 4 * place, sizeof tail);
                         for (std::uint32_t entry = log::entries_in(tail); entry < shape.capacity; ++entry) {
                           for (std::uint32_t k = 0; k < shape.entry_words; ++k) {
                             put(bytes,
                                 data_at(object) + log::entries_at(shape) +
                                     4 * (shape.first(place, entry) + std::uint64_t{k} * shape.stride()),
                                 word);
                           }
                         }
                       }
                     }});
    }
  }
  expect_each("behind_tails", all, 0, [](const Found& found) {
    return std::string(found.undone && found.step == kNewest ? "" : "not all of it is as before");
  });
}

void edit_header(std::string& bytes, unsigned copy, const std::function<void(CopyHeader&)>& edit, bool sealed) {
  CopyHeader header;
  std::memcpy(&header, bytes.data() + data_at(kCheckpoint, copy), sizeof header);
  edit(header);
  if (sealed) pool::seal(header);
  std::memcpy(bytes.data() + data_at(kCheckpoint, copy), &header, sizeof header);
}
std::uint64_t word_at() { return page_in(data_bytes(), kCheckpoint) + 2 * pool::kPage; }

/// A save into a copy that was cut at any of its pieces; the word names copy 1, of save 2.
TEST(CorruptData, UnfinishedCopies) {
  using Change = std::function<void(std::string&)>;
  const auto header = [](std::function<void(CopyHeader&)> edit, bool sealed) -> Change {
    return [=](std::string& bytes) { edit_header(bytes, 2, edit, sealed); };
  };
  const auto fill = [](std::uint64_t from, std::uint64_t to) -> Change {
    return [=](std::string& bytes) {
      const std::uint64_t at = data_at(kCheckpoint, 2);
      std::memset(bytes.data() + at + from, 0x5a, to - from);
    };
  };
  const Change withdrawn = header([](CopyHeader& head) { head.sequence = 0; }, false);
  const std::map<std::string, std::vector<Change>> cuts = {
      {"filled, and not switched to", {}},
      {"withdrawn", {withdrawn}},
      {"with half of its catalogue", {withdrawn, fill(sizeof(CopyHeader), 300)}},
      {"with half of its data", {withdrawn, fill(4096, 40'000)}},
      {"with its header's first line",
       {withdrawn, header([](CopyHeader& head) { head.sequence = 3; }, false), fill(64, 128)}},
      {"with its header's last line", {header([](CopyHeader&) {}, false), fill(0, 64)}},
      {"sealed with the number of the newest", {header([](CopyHeader& head) { head.sequence = 2; }, true)}},
      {"sealed with a far number", {header([](CopyHeader& head) { head.sequence = std::uint64_t{1} << 44; }, true)}},
      {"sealed with a number of 64 bits", {header([](CopyHeader& head) { head.sequence = ~std::uint64_t{0}; }, true)}}};
  std::vector<Damage> all;
  for (const auto& [name, changes] : cuts) {
    all.push_back({"a copy " + name, [changes](std::string& bytes) {
                     put(bytes, word_at(), checkpoint::word_of(2, 1));
                     for (const Change& change : changes) change(bytes);
                   }});
  }
  data_bytes();
  expect_sound(
      "unfinished_copies", 2 * all.size(),
      [&](std::uint64_t i) {
        std::string bytes = data_bytes();
        all[i / 2].make(bytes);
        Found found = use(bytes, kCheckpoint, i % 2 == 1);
        std::string& wrong = found.outcome.wrong;
        const std::string older = "an older state is given, and nothing is said; ";  // it is the newest that counts
        if (const std::size_t at = wrong.find(older); at != std::string::npos) wrong.erase(at, older.size());
        if (found.step != 2u || found.outcome.reported) wrong += "the state of step 2 is not given as it is";
        return found.outcome;
      },
      [&](std::uint64_t i) { return all[i / 2].name + (i % 2 == 1 ? ", file" : ", shm"); });
}

/// Words that are whole, and name what is not there.
TEST(CorruptData, WordsThatNameNoCopy) {
  std::vector<Damage> all;
  for (unsigned copy = 0; copy < 8; ++copy) {
    for (const std::uint64_t sequence :
         {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{4}, checkpoint::kSequences - 4}) {
      if (copy + 1 == sequence) continue;
      all.push_back({"save " + std::to_string(sequence) + " in copy " + std::to_string(copy),
                     [=](std::string& bytes) { put(bytes, word_at(), checkpoint::word_of(sequence, copy)); }});
    }
  }
  expect_each("words", all, kCheckpoint,
              [](const Found& found) { return std::string(found.outcome.reported ? "" : "nothing is said"); });
}

/// Bits of each object's data. What has a checksum gives no wrong answer; what has none harms nothing else.
TEST(CorruptData, BitsOfEachObject) {
  for (const std::uint32_t victim : {kRegion, kUndo, kThreads, kPartitions, kCheckpoint}) {
    std::vector<std::uint64_t> bits;
    Random random(victim);
    const auto extents = directory_in(data_bytes()).extents_of(victim, log::kDataRole);
    for (unsigned i = 0; i < (is_long() ? 4000 : 200); ++i) {
      const pool::Extent& extent = extents[i % extents.size()];
      std::uint64_t byte = random.below(extent.bytes);
      for (std::uint64_t n = 0; i % 4 != 0 && data_bytes()[extent.offset + byte] == 0 && n < extent.bytes; ++n)
        byte = (byte + 1) % extent.bytes;
      bits.push_back((extent.offset + byte) * 8 + random.below(8));
    }
    expect_sound(
        "bits_of_" + std::to_string(victim), bits.size(),
        [&](std::uint64_t i) {
          std::string bytes = data_bytes();
          flip(bytes, bits[i]);
          return use(bytes, victim, i % 2 == 1).outcome;
        },
        [&](std::uint64_t i) { return bit_name(bits[i]); });
  }
}

}  // namespace
}  // namespace holdfast::test::corrupt

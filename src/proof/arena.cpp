// arena.cpp: keeps the stores that are not yet durable, and combines them into crash images.
#include "proof/arena.hpp"

#include <algorithm>
#include <utility>

#include "core/both.hpp"

namespace holdfast::proof {

namespace {

/// Every combination of choices below `radices`; if there are too many: each one alone, all but each one, and a thousand
/// drawn from a fixed seed. Choice 0 is "nothing more became durable". False if sampled.
bool for_each_choice(const std::vector<unsigned>& radices,
                     const std::function<void(const std::vector<unsigned>&)>& visit) {
  std::vector<unsigned> choice(radices.size(), 0);
  std::uint64_t total = 1;
  for (const unsigned radix : radices) total = std::min<std::uint64_t>(total * radix, kMaxImages + 1);
  if (total <= kMaxImages) {
    for (;;) {
      visit(choice);
      std::size_t i = 0;
      while (i < choice.size() && ++choice[i] == radices[i]) choice[i++] = 0;
      if (i == choice.size()) return true;
    }
  }
  visit(choice);
  for (std::size_t i = 0; i < radices.size(); ++i) {
    for (unsigned c = 1; c < radices[i]; ++c) {
      std::fill(choice.begin(), choice.end(), 0u);
      choice[i] = c;
      visit(choice);
    }
    for (std::size_t j = 0; j < radices.size(); ++j) choice[j] = radices[j] - 1;
    visit(choice);
    choice[i] = 0;
    visit(choice);
  }
  std::uint64_t random = 0x2545'f491'4f6c'dd1d;
  for (unsigned n = 0; n < kSampledImages; ++n) {
    for (std::size_t i = 0; i < radices.size(); ++i) {
      random = mix(random + i + 1);
      choice[i] = static_cast<unsigned>(random % radices[i]);
    }
    visit(choice);
  }
  return false;
}

}  // namespace

Arena::Arena(Stores stores, ArenaPlan plan)
    : stores_(stores), plan_(std::move(plan)), visible_(plan_.words, 0), base_(plan_.words, 0) {
  HOLDFAST_ASSERT(plan_.words <= 1u << 16 && (plan_.lines.empty() || plan_.lines.size() == plan_.words));
  plan_.rest_begin = std::min(plan_.rest_begin, plan_.words);
  for (unsigned word = 0; plan_.lines.size() < plan_.words; ++word) plan_.lines.push_back(word & ~7u);
}

void Arena::load(const Words& image) {
  HOLDFAST_ASSERT(image.size() == visible_.size());
  std::copy(image.begin(), image.end(), visible_.begin());
  base_ = image;
  base_hash_ = 0;
  for (unsigned i = 0; i < base_.size(); ++i) base_hash_ += word_hash(i, base_[i]);
  pending_.clear();
}

void Arena::settle_word(unsigned word, std::uint64_t value) {
  base_hash_ += word_hash(word, value) - word_hash(word, base_[word]);
  base_[word] = value;
}

void Arena::settle() {
  for (const Store& store : pending_) settle_word(store.word, store.value);
  pending_.clear();
}

void Arena::store(unsigned caller, std::uint64_t* word, std::uint64_t value) {
  *word = value;
  const unsigned at = index(word);
  if (stores_ == Stores::all) return settle_word(at, value);
  const bool rewritten = at >= plan_.rewritten_begin && at < plan_.rewritten_end;
  const auto is_pending = [&](const Store& store) { return store.word == at; };
  if (rewritten && base_[at] == value && std::none_of(pending_.begin(), pending_.end(), is_pending)) return;
  pending_.push_back({static_cast<std::uint16_t>(line_of(at)), static_cast<std::uint16_t>(at), 0, value});
  if (stores_ == Stores::by_word) observe(caller, word);
}

/// On a GPU a fence covers the writes that its thread made, and those that it saw.
void Arena::observe(unsigned caller, const std::uint64_t* word) {
  if (stores_ != Stores::by_word) return;
  const unsigned at = index(word);
  for (Store& store : pending_) {
    if (store.word == at) store.flushed |= static_cast<std::uint8_t>(1u << caller);
  }
}

void Arena::flush(unsigned caller, const void* address, std::size_t bytes) {
  if (stores_ != Stores::by_line) return;
  const unsigned first = line_of(index(static_cast<const std::uint64_t*>(address)));
  const unsigned last =
      line_of(index(static_cast<const std::uint64_t*>(address)) + static_cast<unsigned>((bytes - 1) / 8));
  for (Store& store : pending_) {
    if (store.line >= first && store.line <= last) store.flushed |= static_cast<std::uint8_t>(1u << caller);
  }
}

void Arena::fence(unsigned caller) {
  const auto bit = static_cast<std::uint8_t>(1u << caller);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i].flushed & bit) {
      settle_word(pending_[i].word, pending_[i].value);
    } else {
      pending_[kept++] = pending_[i];
    }
  }
  pending_.resize(kept);
}

std::uint64_t Arena::hash() const {
  std::uint64_t hash = base_hash_;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const Store& store = pending_[i];
    std::uint64_t position = 0;
    for (std::size_t j = 0; j < i; ++j) position += pending_[j].line == store.line;
    hash += mix(store.value + mix((std::uint64_t{store.word} << 16) + (position << 8) + store.flushed + 1));
  }
  return hash;
}

unsigned Arena::stores_to(std::uint16_t line) const {
  unsigned count = 0;
  for (const Store& store : pending_) count += store.line == line;
  return count;
}

void Arena::apply(Words& image, std::uint16_t line, unsigned stores) const {
  for (const Store& store : pending_) {
    if (store.line != line || stores == 0) continue;
    image[store.word] = store.value;
    --stores;
  }
}

void Arena::visit_rest(Words& image, const std::vector<std::uint16_t>& lines,
                       const std::function<void(const Words&, std::uint64_t)>& visit, bool& complete) const {
  const std::vector<bool> rest = plan_.is_read ? plan_.is_read(image) : std::vector<bool>();
  const auto is_read = [&](unsigned word) { return rest[word - plan_.rest_begin]; };
  std::vector<std::uint16_t> read;
  std::vector<unsigned> radices;
  for (const std::uint16_t line : lines) {
    if (!is_read(line)) continue;
    read.push_back(line);
    radices.push_back(1 + stores_to(line));
  }
  complete &= for_each_choice(radices, [&](const std::vector<unsigned>& choice) {
    std::uint64_t hash = 0;
    for (unsigned i = plan_.rest_begin; i < plan_.words; ++i) image[i] = is_read(i) ? base_[i] : 0;
    for (std::size_t i = 0; i < read.size(); ++i) apply(image, read[i], choice[i]);
    for (unsigned i = 0; i < plan_.words; ++i) hash += word_hash(i, image[i]);
    visit(image, hash);
  });
}

bool Arena::images(const std::function<void(const Words&, std::uint64_t)>& visit) const {
  std::vector<std::uint16_t> first_lines, rest_lines;
  for (const Store& store : pending_) {
    auto& lines = store.word < plan_.rest_begin ? first_lines : rest_lines;
    if (std::find(lines.begin(), lines.end(), store.line) == lines.end()) lines.push_back(store.line);
  }
  std::vector<unsigned> radices;
  radices.reserve(first_lines.size());
  for (const std::uint16_t line : first_lines) radices.push_back(1 + stores_to(line));
  bool complete = true;
  Words image = base_;
  complete &= for_each_choice(radices, [&](const std::vector<unsigned>& choice) {
    std::copy(base_.begin(), base_.end(), image.begin());
    for (std::size_t i = 0; i < first_lines.size(); ++i) apply(image, first_lines[i], choice[i]);
    visit_rest(image, rest_lines, visit, complete);
  });
  return complete;
}

}  // namespace holdfast::proof

// durable.cpp: keeps the stores that are not yet durable, and combines them into crash images.
#include "machine/model/durable.hpp"

#include <algorithm>

#include "core/both.hpp"
#include "index/slab.hpp"

namespace holdfast::machine::model {

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

const char* name(Flavour flavour) {
  switch (flavour) {
    case Flavour::process: return "process";
    case Flavour::power: return "power";
    case Flavour::resident: return "resident";
    case Flavour::gpu: break;
  }
  return "gpu";
}

Durable::Durable(Flavour flavour, const Regions& regions)
    : flavour_(flavour), regions_(regions), visible_(regions.words, 0), base_(regions.words, 0) {}

void Durable::load(const Image& image) {
  HOLDFAST_ASSERT(image.size() == visible_.size());
  std::copy(image.begin(), image.end(), visible_.begin());
  base_ = image;
  base_hash_ = 0;
  for (unsigned i = 0; i < base_.size(); ++i) base_hash_ += word_hash(i, base_[i]);
  pending_.clear();
}

void Durable::settle_word(unsigned word, std::uint64_t value) {
  base_hash_ += word_hash(word, value) - word_hash(word, base_[word]);
  base_[word] = value;
}

void Durable::settle() {
  for (const Store& store : pending_) settle_word(store.word, store.value);
  pending_.clear();
}

void Durable::store(unsigned caller, std::uint64_t* word, std::uint64_t value) {
  *word = value;
  const unsigned at = index(word);
  if (flavour_ == Flavour::process) return settle_word(at, value);
  // Lines are written whole: a word that durably is what it was has it, whether this store arrives or not.
  const bool in_line = flavour_ == Flavour::resident && at >= regions_.slots_begin && at < regions_.heap_begin;
  const auto is_pending = [&](const Store& store) { return store.word == at; };
  if (in_line && base_[at] == value && std::none_of(pending_.begin(), pending_.end(), is_pending)) return;
  pending_.push_back({static_cast<std::uint16_t>(line_of(at)), static_cast<std::uint16_t>(at), 0, value});
  if (is_gpu(flavour_)) observe(caller, word);
}

/// On a GPU a fence covers the writes that its thread made, and those that it saw.
void Durable::observe(unsigned caller, const std::uint64_t* word) {
  if (!is_gpu(flavour_)) return;
  const unsigned at = index(word);
  for (Store& store : pending_) {
    if (store.word == at) store.flushed |= static_cast<std::uint8_t>(1u << caller);
  }
}

void Durable::flush(unsigned caller, const void* address, std::size_t bytes) {
  if (flavour_ != Flavour::power) return;
  const unsigned first = line_of(index(static_cast<const std::uint64_t*>(address)));
  const unsigned last =
      line_of(index(static_cast<const std::uint64_t*>(address)) + static_cast<unsigned>((bytes - 1) / 8));
  for (Store& store : pending_) {
    if (store.line >= first && store.line <= last) store.flushed |= static_cast<std::uint8_t>(1u << caller);
  }
}

void Durable::fence(unsigned caller) {
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

std::uint64_t Durable::hash() const {
  std::uint64_t hash = base_hash_;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    const Store& store = pending_[i];
    std::uint64_t position = 0;
    for (std::size_t j = 0; j < i; ++j) position += pending_[j].line == store.line;
    hash += mix(store.value + mix((std::uint64_t{store.word} << 16) + (position << 8) + store.flushed + 1));
  }
  return hash;
}

unsigned Durable::stores_to(std::uint16_t line) const {
  unsigned count = 0;
  for (const Store& store : pending_) count += store.line == line;
  return count;
}

void Durable::apply(Image& image, std::uint16_t line, unsigned stores) const {
  for (const Store& store : pending_) {
    if (store.line != line || stores == 0) continue;
    image[store.word] = store.value;
    --stores;
  }
}

/// The words of the heap that recovery may read: those of cells that an occupied slot of `image` names, and of the directory.
std::vector<bool> Durable::named_words(const Image& image) const {
  std::vector<bool> named(regions_.words - regions_.heap_begin, false);
  const auto name = [&](std::uint64_t begin, std::uint64_t words) {
    for (std::uint64_t i = begin; i < begin + words && i < named.size(); ++i) named[i] = true;
  };
  if (regions_.pairs) name(0, regions_.cell_words);
  for (unsigned i = regions_.slots_begin; i < regions_.heap_begin; i += regions_.slot_words) {
    const std::uint64_t word = image[i + 1];
    if (image[i] == 0 || word == 0) continue;
    const index::PairWord pair{word};
    if (!regions_.pairs) {
      if (word <= named.size()) name((word - 1) * regions_.cell_words, regions_.cell_words);
    } else if (pair.size_class() < index::kClasses) {
      name(pair.begin() / 8, index::class_bytes(pair.size_class()) / 8);
    }
  }
  return named;
}

void Durable::visit_heap(Image& image, const std::vector<std::uint16_t>& lines,
                         const std::function<void(const Image&, std::uint64_t)>& visit, bool& complete) const {
  const std::vector<bool> named = named_words(image);
  const auto is_named = [&](unsigned word) { return named[word - regions_.heap_begin]; };
  std::vector<std::uint16_t> read;
  std::vector<unsigned> radices;
  for (const std::uint16_t line : lines) {
    if (!is_named(line)) continue;
    read.push_back(line);
    radices.push_back(1 + stores_to(line));
  }
  complete &= for_each_choice(radices, [&](const std::vector<unsigned>& choice) {
    std::uint64_t hash = 0;
    for (unsigned i = regions_.heap_begin; i < regions_.words; ++i) image[i] = is_named(i) ? base_[i] : 0;
    for (std::size_t i = 0; i < read.size(); ++i) apply(image, read[i], choice[i]);
    for (unsigned i = 0; i < regions_.words; ++i) hash += word_hash(i, image[i]);
    visit(image, hash);
  });
}

bool Durable::images(const std::function<void(const Image&, std::uint64_t)>& visit) const {
  std::vector<std::uint16_t> slot_lines, heap_lines;
  for (const Store& store : pending_) {
    auto& lines = store.word < regions_.heap_begin ? slot_lines : heap_lines;
    if (std::find(lines.begin(), lines.end(), store.line) == lines.end()) lines.push_back(store.line);
  }
  std::vector<unsigned> radices;
  radices.reserve(slot_lines.size());
  for (const std::uint16_t line : slot_lines) radices.push_back(1 + stores_to(line));
  bool complete = true;
  Image image = base_;
  complete &= for_each_choice(radices, [&](const std::vector<unsigned>& choice) {
    std::copy(base_.begin(), base_.end(), image.begin());
    for (std::size_t i = 0; i < slot_lines.size(); ++i) apply(image, slot_lines[i], choice[i]);
    visit_heap(image, heap_lines, visit, complete);
  });
  return complete;
}

}  // namespace holdfast::machine::model

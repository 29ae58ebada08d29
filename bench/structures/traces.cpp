// traces.cpp: generates keys, or reads them from a user's files.
#include "structures/traces.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <unordered_set>

#include "frame/distribution.hpp"
#include "frame/keys.hpp"
#include "holdfast/error.hpp"
#include "structures/md5.hpp"

namespace holdfast::bench::structures {

namespace {

constexpr std::uint64_t kIntegers = std::uint64_t{1} << 26;
constexpr std::uint64_t kVocabulary = 141'043;  // of PubMed abstracts
constexpr std::uint64_t kWordsOfDocument = 59;  // of these, on average
constexpr double kZipf = 0.99;
constexpr std::size_t kBlockBytes = 4096;

struct KeyHash {
  std::size_t operator()(const Key& key) const { return mix(key[0] + mix(key[1])); }
};

/// Takes keys until there are enough that differ.
class Distinct {
 public:
  Distinct(std::vector<Key>& keys, std::uint64_t size) : keys_(keys), size_(size) {
    keys_.reserve(size);
    seen_.reserve(size);
  }
  bool is_full() const { return keys_.size() == size_; }
  void add(const Key& key) {
    if (!is_full() && seen_.insert(key).second) keys_.push_back(key);
  }

 private:
  std::vector<Key>& keys_;
  const std::uint64_t size_;
  std::unordered_set<Key, KeyHash> seen_;
};

void draw_integers(std::vector<Key>& keys, std::uint64_t size) {
  if (size > kIntegers / 4 * 3) {
    throw InvalidArgument("RandomNum has 2^26 integers, and " + std::to_string(size) +
                          " that differ are asked for: measure smaller tables");
  }
  Random random(1);
  std::vector<bool> seen(kIntegers);
  keys.reserve(size);
  while (keys.size() < size) {  // ends: at most three of four integers are drawn
    const std::uint64_t drawn = random.below(kIntegers);
    if (!seen[drawn]) keys.push_back({drawn, 0});
    seen[drawn] = true;
  }
}

Key word_key(std::uint64_t document, std::uint64_t word) { return {document << 32 | word, 0}; }

void draw_words(std::vector<Key>& keys, std::uint64_t size) {
  Random random(2);
  const Zipfian words(kVocabulary, kZipf);
  std::vector<std::uint64_t> document;
  keys.reserve(size);
  for (std::uint64_t number = 1; keys.size() < size; ++number) {  // ends: each document has words
    document.resize(1 + random.below(2 * kWordsOfDocument - 1));
    for (std::uint64_t& word : document) word = 1 + words.draw(random);
    std::sort(document.begin(), document.end());
    document.erase(std::unique(document.begin(), document.end()), document.end());
    for (const std::uint64_t word : document) {
      if (keys.size() < size) keys.push_back(word_key(number, word));
    }
  }
}

/// Numbers of a text file, line by line.
class NumberFile {
 public:
  explicit NumberFile(std::string path) : path_(std::move(path)), stream_(path_) {
    if (!stream_)
      throw InvalidArgument("the trace " + path_ + " cannot be read: name a docword file of UCI's Bag of Words");
  }
  /// Reads `kNumbers` of the next line; false at the end of the file.
  template <std::size_t kNumbers>
  bool next(std::array<std::uint64_t, kNumbers>& numbers) {
    if (!std::getline(stream_, text_)) return false;
    ++line_;
    const char *at = text_.data(), *const end = at + text_.size();
    for (std::uint64_t& number : numbers) {
      while (at != end && *at == ' ') ++at;
      const auto [behind, error] = std::from_chars(at, end, number);
      if (error != std::errc{}) refuse("is not numeric");
      at = behind;
    }
    while (at != end && (*at == ' ' || *at == '\r')) ++at;
    if (at != end) refuse("has more than " + std::to_string(kNumbers) + (kNumbers == 1 ? " number" : " numbers"));
    return true;
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw InvalidArgument("the trace " + path_ + ": line " + std::to_string(line_) + " " + what +
                          "; expected are a line each with documents, words and entries, then \"document word count\"");
  }
  [[noreturn]] void is_cut_off(const std::string& what) const {
    throw InvalidArgument("the trace " + path_ + " is cut off: " + what + "; fetch it again");
  }

 private:
  const std::string path_;
  std::ifstream stream_;
  std::string text_;
  std::uint64_t line_ = 0;
};

[[noreturn]] void has_too_few(const std::string& what, std::uint64_t found, std::uint64_t size) {
  throw InvalidArgument(what + " has " + std::to_string(found) + " keys that differ, and " + std::to_string(size) +
                        " are needed: measure smaller tables with --bits, or give more");
}

void read_words(std::vector<Key>& keys, std::uint64_t size, const std::string& path) {
  NumberFile file(path);
  std::array<std::uint64_t, 1> header[3];
  for (auto& number : header) {
    if (!file.next(number)) file.is_cut_off("its first three lines are not all there");
  }
  const std::uint64_t documents = header[0][0], words = header[1][0], entries = header[2][0];
  Distinct distinct(keys, size);
  std::array<std::uint64_t, 3> entry{};
  for (std::uint64_t found = 0; found < entries && !distinct.is_full(); ++found) {
    if (!file.next(entry)) {
      file.is_cut_off("it says that it has " + std::to_string(entries) + " entries, and has " + std::to_string(found));
    };
    if (entry[0] == 0 || entry[0] > documents || entry[0] >> 32 != 0) file.refuse("names a document that there is not");
    if (entry[1] == 0 || entry[1] > words || entry[1] >> 32 != 0) file.refuse("names a word that there is not");
    distinct.add(word_key(entry[0], entry[1]));
  }
  if (!distinct.is_full()) has_too_few("the trace " + path, keys.size(), size);
}

void draw_fingerprints(std::vector<Key>& keys, std::uint64_t size) {
  Random random(3);
  keys.reserve(size);
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t block = random.next();
    keys.push_back({mix(block), mix(block + kOdd)});
  }
}

void read_fingerprints(std::vector<Key>& keys, std::uint64_t size, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> files;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && !at->is_symlink(ignored)) files.push_back(at->path());
  }
  if (error) throw InvalidArgument("the folder " + folder + " cannot be read: " + error.message());
  if (files.empty()) throw InvalidArgument("the folder " + folder + " has no files: name one that has");
  std::sort(files.begin(), files.end());
  Distinct distinct(keys, size);
  std::vector<char> block(kBlockBytes);
  for (const fs::path& path : files) {
    if (distinct.is_full()) return;
    std::ifstream stream(path, std::ios::binary);
    while (stream && !distinct.is_full()) {  // ends: with the file
      stream.read(block.data(), kBlockBytes);
      if (stream.gcount() > 0) distinct.add(md5(block.data(), static_cast<std::size_t>(stream.gcount())));
    }
  }
  if (!distinct.is_full()) has_too_few("the folder " + folder, keys.size(), size);
}

}  // namespace

Trace trace_named(const std::string& name, const Setup& setup) {
  Trace trace;
  trace.name = name;
  trace.source = "generated";
  if (name == "words") {
    trace.bits = 24;
    if (!setup.words_file.empty()) trace.source = setup.words_file;
  }
  if (name == "fingerprint") {
    trace.bits = 25;
    trace.item_bytes = 32;
    if (!setup.folder.empty()) trace.source = setup.folder;
  }
  if (setup.bits != 0) trace.bits = setup.bits;
  return trace;
}

void add_keys(Trace& trace, std::uint64_t size, const Setup& setup) {
  trace.keys.clear();
  if (trace.name == "random") return draw_integers(trace.keys, size);
  if (trace.name == "words") {
    return setup.words_file.empty() ? draw_words(trace.keys, size) : read_words(trace.keys, size, setup.words_file);
  }
  return setup.folder.empty() ? draw_fingerprints(trace.keys, size) : read_fingerprints(trace.keys, size, setup.folder);
}

}  // namespace holdfast::bench::structures

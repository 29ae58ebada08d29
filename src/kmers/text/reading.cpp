// reading.cpp: who cuts a block of which file.
#include "kmers/text/reading.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "holdfast/error.hpp"
#include "pool/medium/system.hpp"

namespace holdfast::kmers {

namespace system = memory::system;

namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr std::size_t kMostRecordBytes = std::size_t{1} << 30;
constexpr std::uint64_t kUnknownBytes = std::uint64_t{2} << 30;
constexpr std::uint64_t kInflated = 4;  ///< bytes of text to a byte of gzip, more or less
constexpr unsigned kBlockBits = 40;     ///< of a ticket

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Expected expect(const std::vector<std::string>& files) {
  Expected all;
  bool known = true;
  for (const std::string& file : files) {
    std::uint64_t bytes = 0, text = kUnknownBytes;
    if (file != "-") {
      // A pipe is opened once, when it is read: its writer must not find that its reader has gone.
      struct stat status {};
      const bool other = system::stat(file.c_str(), status) == 0 && !S_ISREG(status.st_mode);
      if (!other) bytes = Input(file).size();
      const std::string_view name(file);
      text = bytes == 0 ? kUnknownBytes : name.ends_with("gz") ? kInflated * bytes : bytes;
    }
    known = known && bytes != 0;
    all.bytes += bytes;
    all.instances += text / 2;
  }
  if (!known) all.bytes = 0;
  return all;
}

Reading::Reading(const std::vector<std::string>& files, const KmerOptions& options) : options_(options) {
  for (const std::string& file : files) {
    sources_.push_back(std::make_unique<Source>());
    sources_.back()->file = file;
  }
}

void Reading::end(Source& source) {
  source.done = true;
  if (!source.blocks) return;
  const std::lock_guard lock(mutex_);
  input_.text_bytes += source.blocks->text_bytes();
  time_.reading += source.blocks->input().reading();
  time_.inflating += source.blocks->input().inflating();
  source.blocks.reset();
}

Reading::Ticket Reading::next_of(std::size_t number, TextBlock& block, Crew& crew) {
  Source& source = *sources_[number];
  if (source.done) return {};
  Ticket ticket{true, static_cast<std::uint64_t>(number) << kBlockBits | source.cut++};
  try {
    if (!source.blocks) {
      source.blocks =
          std::make_unique<TextBlocks>(source.file, options_.k, kBlockBytes, kMostRecordBytes, &crew.stop_flag());
    }
    ticket.some = source.blocks->next(block);
    source.taken = source.blocks->input().taken();
  } catch (const Stopped&) {
    ticket.some = false;
  } catch (...) {
    crew.fail(ticket.number, std::current_exception());
    ticket.some = false;
  }
  if (!ticket.some) end(source);
  return ticket;
}

/// A block of the first file that nobody cuts; files are read in their order, as many at once as there are threads.
Reading::Ticket Reading::next(TextBlock& block, Crew& crew) {
  while (!crew.stopping()) {
    std::size_t first = first_;
    while (first < sources_.size() && sources_[first]->done) first_.compare_exchange_strong(first, first + 1);
    first = first_;
    if (first == sources_.size()) return {};
    const std::size_t end = std::min<std::size_t>(sources_.size(), first + options_.threads);
    bool cut = false;
    for (std::size_t i = first; i < end && !cut; ++i) {
      if (sources_[i]->done || !sources_[i]->mutex.try_lock()) continue;
      const std::lock_guard lock(sources_[i]->mutex, std::adopt_lock);
      cut = true;
      if (const Ticket ticket = next_of(i, block, crew); ticket.some) return ticket;
    }
    if (cut) continue;
    const std::lock_guard lock(sources_[first]->mutex);
    if (const Ticket ticket = next_of(first, block, crew); ticket.some) return ticket;
  }
  return {};
}

void Reading::work(Crew& crew, Lane& lane) {
  RecordParser parser(options_.k, options_.min_quality, lane);
  TextBlock block;
  double splitting = 0;
  for (Ticket ticket = next(block, crew); ticket.some; ticket = next(block, crew)) {
    const auto begin = std::chrono::steady_clock::now();
    try {
      parser.parse(block);
    } catch (...) {
      crew.fail(ticket.number, std::current_exception());
    }
    splitting += seconds_since(begin);
  }
  lane.finish();
  const std::lock_guard lock(mutex_);
  input_.records += parser.records();
  input_.bases += parser.letters();
  time_.splitting += splitting;
}

std::uint64_t Reading::taken() const {
  std::uint64_t sum = 0;
  for (const auto& source : sources_) sum += source->taken;
  return sum;
}

void Reading::report(KmerStats& stats) const {
  const std::lock_guard lock(mutex_);
  stats.input = input_;
  stats.thread_time.reading = time_.reading;
  stats.thread_time.inflating = time_.inflating;
  stats.thread_time.splitting = time_.splitting;
}

}  // namespace holdfast::kmers

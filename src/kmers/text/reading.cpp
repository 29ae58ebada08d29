// reading.cpp: who cuts a block of which file, and who parses it.
#include "kmers/text/reading.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "holdfast/error.hpp"
#include "system/calls.hpp"

namespace holdfast::kmers {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
constexpr std::size_t kMostRecordBytes = std::size_t{1} << 30;
constexpr std::uint64_t kUnknownBytes = std::uint64_t{2} << 30;
constexpr std::uint64_t kInflated = 4;  ///< bytes of text to a byte of gzip, more or less
constexpr unsigned kBlockBits = 40;     ///< of a block's number

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
    auto source = std::make_unique<Source>();
    source->file = file;
    source->next = static_cast<std::uint64_t>(sources_.size()) << kBlockBits;
    sources_.push_back(std::move(source));
  }
}

void Reading::end(Source& source) {
  source.done = true;
  if (!source.blocks) return;
  input_.text_bytes += source.blocks->text_bytes();
  time_.reading += source.blocks->input().reading();
  time_.inflating += source.blocks->input().inflating();
  source.blocks.reset();
}

bool Reading::cut_block(Source& source, Ready& ready, threads::ThreadGroup& group) {
  try {
    if (!source.blocks) {
      source.blocks =
          std::make_unique<TextBlocks>(source.file, options_.k, kBlockBytes, kMostRecordBytes, &group.stop_flag());
    }
    const bool some = source.blocks->next(ready.block);
    source.taken = source.blocks->input().taken();
    // Only one thread can inflate a file: it continues, and others parse, as long as they are as fast. Other text is parsed by who
    // read it, out of its caches.
    if (source.blocks->input().compressed()) source.ahead = options_.threads;
    return some;
  } catch (const Stopped&) {
  } catch (...) {
    group.fail(ready.number, std::current_exception());
  }
  return false;
}

void Reading::cut(Source& source, std::unique_lock<std::mutex>& lock, threads::ThreadGroup& group) {
  Ready ready;
  if (!used_.empty()) {
    ready = std::move(used_.back());
    used_.pop_back();
  }
  ready.number = source.next++;
  source.cutting = true;
  lock.unlock();
  const bool some = cut_block(source, ready, group);
  lock.lock();
  source.cutting = false;
  changed_.notify_one();
  if (!some) return end(source);
  ready_.push_back(std::move(ready));
}

/// The first file that no thread cuts; files are read in their order, as many at once as there are threads.
Reading::Source* Reading::to_cut() {
  while (first_ < sources_.size() && sources_[first_]->done) ++first_;
  const std::size_t end = std::min<std::size_t>(sources_.size(), first_ + options_.threads);
  for (std::size_t i = first_; i < end; ++i) {
    if (!sources_[i]->done && !sources_[i]->cutting) return sources_[i].get();
  }
  return nullptr;
}

/// A block to parse. Also when the group stops, all that are ready are parsed: the error in one of them is the first one.
bool Reading::next(Ready& ready, threads::ThreadGroup& group) {
  std::unique_lock lock(mutex_);
  // ends: each file is cut to its end, and each block taken once
  for (;;) {
    Source* const source = group.stopping() ? nullptr : to_cut();
    if (source != nullptr && ready_.size() < source->ahead) {
      cut(*source, lock, group);
    } else if (!ready_.empty()) {
      std::swap(ready, ready_.front());
      used_.push_back(std::move(ready_.front()));
      ready_.pop_front();
      return true;
    } else if (group.stopping() || first_ == sources_.size()) {
      changed_.notify_all();
      return false;
    } else {
      changed_.wait(lock);  // for who cuts
    }
  }
}

void Reading::work(threads::ThreadGroup& group, Lane& lane) {
  RecordParser parser(options_.k, options_.min_quality, lane);
  Ready ready;
  std::vector<Block> parsed;
  double splitting = 0;
  while (next(ready, group)) {
    const auto begin = std::chrono::steady_clock::now();
    try {
      parser.parse(ready.block);
      parsed.push_back({ready.number, parser.parsed()});
    } catch (...) {
      group.fail(ready.number, std::current_exception());
    }
    splitting += seconds_since(begin);
  }
  lane.finish();
  const std::lock_guard lock(mutex_);
  input_.records += parser.records();
  input_.bases += parser.letters();
  input_.records_without_kmers += parser.bare();
  parsed_.insert(parsed_.end(), parsed.begin(), parsed.end());
  time_.splitting += splitting;
}

std::uint64_t Reading::taken() const {
  std::uint64_t sum = 0;
  for (const auto& source : sources_) sum += source->taken;
  return sum;
}

/// Records of several blocks, and files, that have no k-mer.
void Reading::find_bare() {
  std::sort(parsed_.begin(), parsed_.end(), [](const Block& a, const Block& b) { return a.number < b.number; });
  for (auto block = parsed_.begin(); block != parsed_.end();) {
    const std::uint64_t file = block->number >> kBlockBits;
    bool some = false, open = false, of_record = false;  // `open`: a record that continues has these k-mers
    for (; block != parsed_.end() && block->number >> kBlockBits == file; ++block) {
      const Parsed& parsed = block->parsed;
      some |= parsed.some;
      of_record |= parsed.before;
      if (!parsed.begins) continue;
      input_.records_without_kmers += open && !of_record;
      open = true;
      of_record = parsed.after;
    }
    input_.records_without_kmers += open && !of_record;
    if (!some) input_.files_without_kmers.push_back(sources_[file]->file);
  }
  parsed_.clear();
}

void Reading::report(KmerStats& stats) {
  const std::lock_guard lock(mutex_);
  find_bare();
  stats.input = input_;
  stats.thread_time.reading = time_.reading;
  stats.thread_time.inflating = time_.inflating;
  stats.thread_time.splitting = time_.splitting;
}

}  // namespace holdfast::kmers

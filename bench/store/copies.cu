// copies.cu: the study `copies`: blocks of a language model's cache between GPU memory and a store, over one plain copy of as many bytes. Twenty
// seconds, and three times the bytes in memory of the host, at its default size.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "core/hash.hpp"
#include "frame/anonymous_memory.hpp"
#include "frame/json.hpp"
#include "gpu/host_ranges.hpp"
#include "gpu/many_copies.hpp"
#include "gpu/runtime.hpp"
#include "holdfast/store_memory.hpp"
#include "holdfast/strings.hpp"
#include "store/setup.hpp"

namespace holdfast::bench::store {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kGroup = 64;  ///< blocks that one call reserves, copies or leases

__global__ void fill_kernel(std::uint64_t* words, std::uint64_t count, std::uint64_t seed) {
  for (std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x; i < count;
       i += gridDim.x * std::uint64_t{kThreads}) {
    words[i] = mix(seed + i);
  }
}
__global__ void check_kernel(const std::uint64_t* words, std::uint64_t count, std::uint64_t seed,
                             unsigned long long* wrong) {
  unsigned long long mine = 0;
  for (std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x; i < count;
       i += gridDim.x * std::uint64_t{kThreads}) {
    mine += words[i] != mix(seed + i);
  }
  if (mine != 0) atomicAdd(wrong, mine);
}

/// The pages of a model's cache in GPU memory, and memory of the host of the same size for plain copies.
class Pages {
 public:
  Pages(std::size_t blocks, std::uint64_t bytes)
      : bytes_(bytes), device_(blocks * bytes), host_(blocks * bytes, true), wrong_(1), places_(blocks) {
    registered_.add(host_.as<std::byte>(), device_.size(), false);
    if (!registered_.error().empty()) throw DeviceError("plain memory cannot be pinned: " + registered_.error());
    std::iota(places_.begin(), places_.end(), std::size_t{0});
    std::shuffle(places_.begin(), places_.end(), std::mt19937_64(1));
  }
  void fill(std::uint64_t seed) {
    fill_kernel<<<1024, kThreads, 0, stream>>>(words(), device_.size() / 8, seed);
    stream.wait("filling");
  }
  void clear() {
    gpu::check(cudaMemsetAsync(device_.data(), 0, device_.size(), stream), "clearing");
    stream.wait("clearing");
  }
  void require(std::uint64_t seed, const char* what) {
    gpu::check(cudaMemsetAsync(wrong_.data(), 0, 8, stream), "clearing");
    check_kernel<<<1024, kThreads, 0, stream>>>(words(), device_.size() / 8, seed, wrong_.data());
    unsigned long long wrong = 0;
    gpu::check(cudaMemcpyAsync(&wrong, wrong_.data(), 8, cudaMemcpyDeviceToHost, stream), "reading");
    stream.wait("reading");
    store::require(wrong == 0, what);
  }
  std::uint64_t bytes() const { return device_.size(); }
  std::size_t blocks() const { return places_.size(); }
  /// Of block `i`: anywhere.
  std::byte* page(std::size_t i) const { return device_.data() + places_[i] * bytes_; }
  std::byte* host_page(std::size_t i) const { return host_.as<std::byte>() + i * bytes_; }

  double plain(cudaMemcpyKind kind) {
    void* const to = kind == cudaMemcpyDeviceToHost ? host_.as<std::byte>() : device_.data();
    const void* const from = kind == cudaMemcpyDeviceToHost ? device_.data() : host_.as<std::byte>();
    const auto begin = Clock::now();
    gpu::check(cudaMemcpyAsync(to, from, bytes(), kind, stream), "copying");
    stream.wait("copying");
    return seconds_since(begin);
  }
  /// All pages to the host's, without a store: how much of it goes to the calls.
  double scattered(gpu::Enqueue how, double& enqueued) {
    gpu::ManyCopies copies;
    for (std::size_t i = 0; i < blocks(); ++i) copies.add(host_page(i), page(i), bytes_);
    const auto begin = Clock::now();
    gpu::enqueue(copies, cudaMemcpyDeviceToHost, stream, how);
    enqueued = seconds_since(begin);
    stream.wait("copying");
    return seconds_since(begin);
  }

  const gpu::Stream stream;

 private:
  std::uint64_t* words() const { return reinterpret_cast<std::uint64_t*>(device_.data()); }
  const std::uint64_t bytes_;
  gpu::DeviceBuffer<std::byte> device_;
  AnonymousMemory host_;
  gpu::HostRanges registered_;
  gpu::DeviceBuffer<unsigned long long> wrong_;
  std::vector<std::size_t> places_;
};

class Blocks {
 public:
  Blocks(const Setup& setup, Pages& pages)
      : setup_(setup), pages_(pages), bytes_(setup.block_bytes), pool_(Pool::create(setup.pool, true)), store_(make()) {
    for (std::size_t first = 0; first < pages.blocks(); first += kGroup) {
      std::vector<std::string> keys;
      for (std::size_t i = first; i < std::min(first + kGroup, pages.blocks()); ++i) {
        keys.push_back("block " + std::to_string(mix(i)));
      }
      groups_.push_back({first, Strings(keys)});
    }
  }
  ~Blocks() {
    store_.close();
    pool_.close();
    std::remove(setup_.pool.c_str());
  }

  /// Reserves, copies and commits all blocks: this thread enqueues, and others commit behind it. Seconds.
  double save() {
    std::vector<std::unique_ptr<StoreReservation>> reserved(groups_.size());
    std::atomic<std::size_t> ready = 0, next = 0, failed = 0;
    const auto begin = Clock::now();
    std::vector<std::jthread> committers;
    for (unsigned i = 0; i < setup_.threads; ++i) {
      committers.emplace_back([&] {
        for (;;) {  // ends: all blocks were taken
          const std::size_t block = next.fetch_add(1), group = block / kGroup;
          if (block >= pages_.blocks()) return;
          for (std::size_t seen = ready; seen <= group; seen = ready) ready.wait(seen);
          failed += reserved[group]->commit(block % kGroup) > StoreStatus::updated ? 1 : 0;
        }
      });
    }
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      const Group& its = groups_[group];
      reserved[group] = std::make_unique<StoreReservation>(
          store_.reserve(its.rows(), std::vector<std::uint64_t>(its.keys.size(), bytes_)));
      reserved[group]->copy_in(parts<StoreSource>(its), pages_.stream);
      ready = group + 1;
      ready.notify_all();
    }
    committers.clear();
    const double seconds = seconds_since(begin);
    require(failed == 0 && store_.size() == pages_.blocks(), "commits");
    return seconds;
  }
  /// Leases all blocks and copies them out. Seconds.
  double load() {
    std::vector<StoreLease> leases;
    const auto begin = Clock::now();
    for (const Group& group : groups_) {
      leases.push_back(store_.lease(group.rows()));
      leases.back().copy_out(parts<StoreTarget>(group), pages_.stream);
    }
    pages_.stream.wait("copying");
    return seconds_since(begin);
  }
  void erase() {
    for (const Group& group : groups_) store_.erase(group.rows());
  }

 private:
  struct Group {
    std::size_t first;
    Strings keys;
    StoreRows rows() const { return {keys.bytes(), keys.offsets(), keys.size()}; }
  };
  template <class Part>
  std::vector<Part> parts(const Group& group) const {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < group.keys.size(); ++i) {
      parts.push_back({i, 0, pages_.page(group.first + i), bytes_, true});
    }
    return parts;
  }
  Store make() {
    return Store::create(
        pool_, "blocks",
        {.expected_items = pages_.blocks(), .max_value_bytes = static_cast<std::uint32_t>(bytes_), .gpu = true});
  }
  const Setup& setup_;
  Pages& pages_;
  const std::uint64_t bytes_;
  Pool pool_;
  Store store_;
  std::vector<Group> groups_;
};

Json copies(const Setup& setup) {
  say("making memory");
  Pages pages(setup.blocks, setup.block_bytes);
  Blocks blocks(setup, pages);
  pages.fill(0);
  say("the first blocks");
  const double first = blocks.save();  // the medium makes its pages
  blocks.erase();
  std::vector<double> plain_in, in, plain_out, out, batch, each, batch_call, each_call;
  for (unsigned repetition = 1; repetition <= setup.repetitions; ++repetition) {
    say(std::to_string(repetition) + " of " + std::to_string(setup.repetitions));
    pages.fill(repetition);
    plain_in.push_back(pages.plain(cudaMemcpyDeviceToHost));
    in.push_back(blocks.save());
    double call = 0;
    batch.push_back(pages.scattered(gpu::Enqueue::batch, call));
    batch_call.push_back(call);
    each.push_back(pages.scattered(gpu::Enqueue::each, call));
    each_call.push_back(call);
    plain_out.push_back(pages.plain(cudaMemcpyHostToDevice));
    pages.clear();
    out.push_back(blocks.load());
    pages.require(repetition, "blocks that were copied out");
    blocks.erase();
  }
  return {{"study", "copies"},
          {"threads", setup.threads},
          {"blocks", setup.blocks},
          {"block_bytes", setup.block_bytes},
          {"first_save_seconds", rounded(first)},
          {"seconds",
           {{"plain_to_host", spread(plain_in)},
            {"copy_in_and_commit", spread(in)},
            {"plain_to_gpu", spread(plain_out)},
            {"lease_and_copy_out", spread(out)},
            {"scattered_batch", spread(batch)},
            {"scattered_each", spread(each)},
            {"scattered_batch_call", spread(batch_call)},
            {"scattered_each_call", spread(each_call)}}},
          {"copy_in_of_plain", spread(ratio_of(plain_in, in))},
          {"copy_out_of_plain", spread(ratio_of(plain_out, out))}};
}

const Study kCopies("copies", copies);

}  // namespace
}  // namespace holdfast::bench::store

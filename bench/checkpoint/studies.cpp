// studies.cpp: holdfast-checkpoint-bench: saves and restores of a GPU's tensors, beside one copy of the same bytes. GPM §5.3.
// It starts itself again for restores, which another process makes.
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "frame/keys.hpp"
#include "frame/studies.hpp"
#include "gpu/runtime.hpp"
#include "holdfast/checkpoint.hpp"
#include "holdfast/region.hpp"

namespace holdfast::bench {
namespace {

struct Setup {
  std::string pool = "/dev/shm/holdfast-checkpoint-bench.hold";
  double gigabytes = 4;  // 10^9 bytes, of the large state
  unsigned repetitions = 7;
  std::string kind = "large";  ///< of the tensors that are restored

  void take(CLI::App& app) {
    app.add_option("--pool", pool, "the pool; it is replaced, and removed at the end")->capture_default_str();
    app.add_option("--gigabytes", gigabytes, "10^9 bytes, of the state of 400 tensors")
        ->check(CLI::Range(0.01, 1000.0))
        ->capture_default_str();
    app.add_option("--repetitions", repetitions, "of each measurement")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--kind", kind, "restores: large or small, of the pool that is there")
        ->check(CLI::IsMember({"large", "small"}));
  }
};

struct Kind {
  const char* name;
  std::uint64_t tensors, bytes;
};

std::array<Kind, 2> kinds_of(const Setup& setup) {
  const auto each = static_cast<std::uint64_t>(setup.gigabytes * 1e9 / 400) / 128 * 128;
  return {{{"large", 400, each}, {"small", 20'000, 16 << 10}}};
}

/// One array for all tensors, each at a multiple of 512 bytes, as PyTorch places them.
class State {
 public:
  explicit State(const Kind& kind)
      : kind_(kind), stride_((kind.bytes + 511) / 512 * 512 + 512), memory_(kind.tensors * stride_) {
    for (std::uint64_t i = 0; i < kind.tensors; ++i) {
      views_.push_back(
          {"layer." + std::to_string(i), ElementType::u8, {kind.bytes}, memory_.data() + i * stride_, true});
    }
  }
  const std::vector<TensorView>& views() const { return views_; }
  std::uint64_t bytes() const { return kind_.tensors * kind_.bytes; }

  void fill(std::uint64_t step) {
    std::vector<std::uint64_t> host(kind_.bytes / 8);
    for (std::uint64_t i = 0; i < kind_.tensors; ++i) {
      make(host, i, step);
      gpu::check(cudaMemcpy(memory_.data() + i * stride_, host.data(), kind_.bytes, cudaMemcpyHostToDevice), "filling");
    }
  }
  void clear() { gpu::check(cudaMemset(memory_.data(), 0, memory_.size()), "clearing"); }
  bool is_of(std::uint64_t step) const {
    std::vector<std::uint64_t> host(kind_.bytes / 8), wanted(kind_.bytes / 8);
    for (std::uint64_t i = 0; i < kind_.tensors; ++i) {
      make(wanted, i, step);
      gpu::check(cudaMemcpy(host.data(), memory_.data() + i * stride_, kind_.bytes, cudaMemcpyDeviceToHost), "reading");
      if (host != wanted) return false;
    }
    return true;
  }
  bool is_saved(const SavedState& saved) const {
    std::vector<std::uint64_t> wanted(kind_.bytes / 8);
    if (saved.tensors.size() != kind_.tensors || !saved.damage.empty()) return false;
    for (std::uint64_t i = 0; i < kind_.tensors; ++i) {
      make(wanted, i, saved.step);
      if (std::memcmp(saved.tensors[i].data, wanted.data(), kind_.bytes) != 0) return false;
    }
    return true;
  }

 private:
  static void make(std::vector<std::uint64_t>& words, std::uint64_t tensor, std::uint64_t step) {
    const std::uint64_t first = mix(tensor * 1000 + step);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = first + i * kOdd;
  }
  const Kind kind_;
  const std::uint64_t stride_;
  gpu::DeviceBuffer<std::byte> memory_;
  std::vector<TensorView> views_;
};

/// One copy of so many bytes between GPU memory and registered memory of the same pool, in GB/s.
class PlainCopy {
 public:
  PlainCopy(Region region, std::uint64_t bytes) : region_(std::move(region)), there_(bytes) {
    gpu::check(cudaMemset(there_.data(), 1, bytes), "filling");
  }
  double to_pool() {
    const Section section = region_.section(Domain::process, Writer::gpu);
    return rate(section.bytes().data(), there_.data(), cudaMemcpyDeviceToHost);
  }
  double from_pool() { return rate(there_.data(), region_.bytes().data(), cudaMemcpyHostToDevice); }

 private:
  double rate(void* to, const void* from, cudaMemcpyKind kind) {
    const auto begin = Clock::now();
    gpu::check(cudaMemcpyAsync(to, from, there_.size(), kind, stream_), "copying");
    stream_.wait("copying");
    return static_cast<double>(there_.size()) / seconds_since(begin) / 1e9;
  }
  Region region_;
  gpu::Stream stream_;
  gpu::DeviceBuffer<std::byte> there_;
};

/// A save until it counts, how long the call took, and how long the stream was kept from later work.
Json save_row(const Setup& setup, Pool& pool, const Kind& kind, bool stage, bool& failed) {
  std::fprintf(stderr, "checkpoint: saves, %s tensors, %s\n", kind.name, stage ? "staged" : "straight");
  State state(kind);
  PlainCopy plain(Region::create(pool, "region", state.bytes(), {.gpu = true, .overwrite = true}), state.bytes());
  Checkpoint checkpoint = Checkpoint::create(pool, kind.name, {.overwrite = true});
  const TensorGroup group = checkpoint.group(state.views());
  const gpu::Stream stream;
  std::vector<double> saves, calls, held, plains;
  const unsigned rounds = setup.repetitions + 3;  // the first three map, and take GPU memory
  for (unsigned i = 0; i < rounds; ++i) {
    if (i == 0 || i + 1 == rounds) state.fill(i + 1);  // the last state is checked, and restored
    const double plain_rate = plain.to_pool();
    const auto begin = Clock::now();
    const SaveTicket ticket = checkpoint.save(i + 1, group, {}, {.stage = stage, .stream = stream});
    const double call = seconds_since(begin);
    stream.wait("waiting for a save");
    const double stream_held = seconds_since(begin);
    ticket.wait();
    const double all = seconds_since(begin);
    if (i < 3) continue;
    plains.push_back(plain_rate);
    saves.push_back(static_cast<double>(state.bytes()) / all / 1e9);
    calls.push_back(call * 1e3);
    held.push_back(stream_held * 1e3);
  }
  failed |= !state.is_saved(checkpoint.restore());
  Json row = {{"kind", kind.name}, {"tensors", kind.tensors}, {"bytes", state.bytes()}, {"staged", stage}};
  row["save_gb_s"] = spread(saves);
  row["plain_gb_s"] = spread(plains);
  row["part_of_plain"] = spread_of(ratio_of(saves, plains)).median;
  row["call_ms"] = spread(calls);
  row["stream_held_ms"] = spread(held);
  return row;
}

/// What a call of the copy engine for each tensor takes.
Json calls_row(const Setup& setup, Pool& pool, const Kind& kind) {
  std::fprintf(stderr, "checkpoint: a copy call for each of %s tensors\n", kind.name);
  const State state(kind);
  Region mine = Region::create(pool, "calls", state.bytes(), {.gpu = true, .overwrite = true});
  const Section section = mine.section(Domain::process, Writer::gpu);
  const gpu::Stream stream;
  std::vector<double> rates;
  for (unsigned i = 0; i <= setup.repetitions; ++i) {
    const auto begin = Clock::now();
    for (std::uint64_t k = 0; k < kind.tensors; ++k) {
      gpu::check(cudaMemcpyAsync(section.bytes().data() + k * kind.bytes, state.views()[k].data, kind.bytes,
                                 cudaMemcpyDeviceToHost, stream),
                 "copying");
    }
    stream.wait("copying");
    if (i != 0) rates.push_back(static_cast<double>(state.bytes()) / seconds_since(begin) / 1e9);
  }
  return {{"kind", kind.name}, {"tensors", kind.tensors}, {"calls_gb_s", spread(rates)}};
}

/// In another process than that of the saves.
Json restore_row(const Setup& setup, Pool& pool, const Kind& kind) {
  std::fprintf(stderr, "checkpoint: restores, %s tensors\n", kind.name);
  State state(kind);
  PlainCopy plain(Region::open(pool, "region", {.gpu = true}), state.bytes());
  const Checkpoint checkpoint = Checkpoint::open(pool, kind.name);
  const auto mapping = Clock::now();
  checkpoint.map_for_gpu();
  const double mapped = seconds_since(mapping);
  std::vector<double> restores, plains;
  std::uint64_t step = 0;
  bool failed = false;
  for (unsigned i = 0; i < setup.repetitions + 1; ++i) {
    state.clear();
    const double plain_rate = plain.from_pool();
    const auto begin = Clock::now();
    const SavedState restored = checkpoint.restore_into(state.views());
    const double all = seconds_since(begin);
    step = restored.step;
    failed |= !restored.damage.empty();
    if (i == 0) continue;
    plains.push_back(plain_rate);
    restores.push_back(static_cast<double>(state.bytes()) / all / 1e9);
  }
  failed |= step != setup.repetitions + 3 || !state.is_of(step);
  Json row = {
      {"kind", kind.name}, {"tensors", kind.tensors}, {"bytes", state.bytes()}, {"map_ms", rounded(mapped * 1e3)}};
  row["restore_gb_s"] = spread(restores);
  row["plain_gb_s"] = spread(plains);
  row["part_of_plain"] = spread_of(ratio_of(restores, plains)).median;
  row["failed"] = failed;
  return row;
}

Json restores_study(const Setup& setup) {
  Pool pool = Pool::open(setup.pool);
  for (const Kind& kind : kinds_of(setup)) {
    if (kind.name == setup.kind) return restore_row(setup, pool, kind);
  }
  throw InvalidArgument("there are no tensors of the kind " + setup.kind);
}
const StudyOf<Setup> kRestores("restores", restores_study, false);

/// Restores of the pool that is there, by this program in a process of its own.
Json restores_elsewhere(const Setup& setup, const Kind& kind) {
  const std::string command = "/proc/self/exe";
  char own[4096];
  const ssize_t length = readlink(command.c_str(), own, sizeof own - 1);
  if (length <= 0) throw SystemError("this program does not find itself");
  own[length] = 0;
  const std::string line = "'" + std::string(own) + "' restores --kind '" + kind.name + "' --pool '" + setup.pool +
                           "' --gigabytes " + std::to_string(setup.gigabytes) + " --repetitions " +
                           std::to_string(setup.repetitions);
  const std::unique_ptr<FILE, int (*)(FILE*)> child(popen(line.c_str(), "r"), pclose);
  std::string printed;
  for (int letter = 0; child && (letter = std::fgetc(child.get())) != EOF;) printed += static_cast<char>(letter);
  Json row = Json::parse(printed);
  row.erase("study");
  return row;
}

Json checkpoint_study(const Setup& setup) {
  bool failed = false;
  Json result = {
      {"saves", Json::array()}, {"calls", Json::array()}, {"restores", Json::array()}, {"bars", Json::object()}};
  for (const Kind& kind : kinds_of(setup)) {
    {
      Pool pool = Pool::create(setup.pool, true);
      result["saves"].push_back(save_row(setup, pool, kind, false, failed));
      result["calls"].push_back(calls_row(setup, pool, kind));
    }
    {
      Pool pool = Pool::create(setup.pool, true);
      result["saves"].push_back(save_row(setup, pool, kind, true, failed));
    }
    result["restores"].push_back(restores_elsewhere(setup, kind));
    failed |= result["restores"].back()["failed"].get<bool>();
  }
  for (const Json& row : result["saves"]) {
    const std::string name = row["kind"].get<std::string>() + (row["staged"].get<bool>() ? "_staged" : "_straight");
    result["bars"][name] = row["part_of_plain"];
  }
  for (const Json& row : result["restores"]) {
    result["bars"][row["kind"].get<std::string>() + "_restore"] = row["part_of_plain"];
  }
  result["failed"] = failed;
  static_cast<void>(std::remove(setup.pool.c_str()));
  return result;
}
const StudyOf<Setup> kCheckpoint("checkpoint", checkpoint_study);

}  // namespace
}  // namespace holdfast::bench

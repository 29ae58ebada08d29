// fake_device.hpp: a GPU's side of a store that copies as late as it may: when somebody waits for it. Builds without CUDA only: there the tests link
// it in place of the library's (src/store/no_device.cpp).
#pragma once
#ifndef HOLDFAST_WITH_CUDA

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "holdfast/error.hpp"
#include "store/device_side.hpp"

namespace holdfast::store {

class FakeTransfer final : public Transfer {
 public:
  FakeTransfer(std::vector<Move> moves, Direction direction, SumTable table, bool fails)
      : moves_(std::move(moves)), direction_(direction), table_(std::move(table)), fails_(fails) {}
  bool poll() override { return done_ || (fails_ && (wait(), false)); }
  void wait() override {
    if (fails_) throw DeviceError("the GPU was lost");
    if (done_) return;
    for (std::size_t job = 0; job < table_.jobs.size(); ++job) sums_.push_back(sum_job(table_, job));
    for (const Move& move : moves_) {
      direction_ == Direction::in ? std::memcpy(move.cell, move.memory, move.bytes)
                                  : std::memcpy(move.memory, move.cell, move.bytes);
    }
    done_ = true;
  }
  std::span<const std::uint64_t> sums() const override { return sums_; }

 private:
  const std::vector<Move> moves_;
  const Direction direction_;
  const SumTable table_;
  std::vector<std::uint64_t> sums_;
  const bool fails_;
  bool done_ = false;
};

/// What the tests arrange, and see. One at a time lives.
struct FakeDevice {
  FakeDevice() { now() = this; }
  ~FakeDevice() { now() = nullptr; }
  static FakeDevice*& now() {
    static FakeDevice* device = nullptr;
    return device;
  }
  bool covers(const void* memory, std::size_t bytes) const {
    for (const auto& [address, size] : mapped) {
      if (memory >= address && static_cast<const std::byte*>(memory) + bytes <= address + size) return true;
    }
    return false;
  }

  std::map<std::byte*, std::uint64_t> mapped;
  std::string error;             ///< of the next mapping, and from then on
  std::size_t copies = 0;        ///< calls
  std::size_t sums = 0;          ///< that were asked for
  bool fails = false;            ///< transfers throw
  std::function<void()> during;  ///< called within a call
};

class FakeSide final : public DeviceSide {
 public:
  void map(std::byte* address, std::uint64_t bytes, bool) noexcept override {
    FakeDevice::now()->mapped[address] = bytes;
    error_ = FakeDevice::now()->error;
  }
  void unmap(std::byte* address) noexcept override { FakeDevice::now()->mapped.erase(address); }
  std::string error() const override { return error_; }
  std::shared_ptr<Transfer> copy(const std::vector<Move>& moves, Direction direction, void*,
                                 const SumTable& sums) override {
    FakeDevice& device = *FakeDevice::now();
    ++device.copies;
    device.sums += sums.jobs.size();
    if (device.during) device.during();
    return std::make_shared<FakeTransfer>(moves, direction, sums, device.fails);
  }
  void clear(std::byte* memory, std::uint64_t bytes, void*) override { std::memset(memory, 0, bytes); }

 private:
  std::string error_;
};

}  // namespace holdfast::store

#endif

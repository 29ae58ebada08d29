// caller.cpp: draws, runs and checks one caller's batches.
#include "table/caller.hpp"

#include <algorithm>
#include <chrono>

#include "frame/plant.hpp"
#include "frame/timing.hpp"

namespace holdfast::bench {
namespace {

constexpr std::size_t kRoundBytes = std::size_t{48} << 20;  ///< of arrays a caller

bool alone(const Spec& spec, Kind kind) { return spec.share[static_cast<unsigned>(kind)] == 1; }

bool any(const Spec& spec, Kind kind) { return spec.share[static_cast<unsigned>(kind)] > 0; }

Op op_of(Kind kind) {
  switch (kind) {
    case Kind::update: return Op::assign;
    case Kind::insert: return Op::insert;
    case Kind::erase: return Op::erase;
    default: return Op::find;
  }
}

Status expected(Kind kind) {
  switch (kind) {
    case Kind::absent_read: return Status::not_found;
    case Kind::update: return Status::updated;
    case Kind::insert: return Status::inserted;
    case Kind::erase: return Status::erased;
    default: return Status::found;
  }
}

}  // namespace

void Caller::Arrays::allocate(std::size_t rows, std::size_t value_bytes, bool with_values, bool with_out,
                              bool on_device) {
  keys.resize(rows);
  statuses.resize(rows);
  values.resize(with_values ? rows * value_bytes : 0);
  out.resize(with_out ? rows * value_bytes : 0);
  if (!on_device || rows == 0) return;
  device_keys = DeviceArray(rows * 8);
  device_statuses = DeviceArray(rows);
  if (!values.empty()) device_values = DeviceArray(values.size());
  if (!out.empty()) device_out = DeviceArray(out.size());
}

void Caller::Arrays::upload(std::size_t rows, std::size_t value_bytes) {
  if (rows == 0) return;
  device_keys.upload(keys.data(), rows * 8);
  device_statuses.upload(statuses.data(), rows);
  if (!values.empty()) device_values.upload(values.data(), rows * value_bytes);
}

void Caller::Arrays::download(std::size_t rows, std::size_t value_bytes) {
  if (rows == 0) return;
  device_statuses.download(statuses.data(), rows);
  if (!out.empty()) device_out.download(out.data(), rows * value_bytes);
}

Work Caller::Arrays::work(std::size_t row, std::size_t rows, std::size_t value_bytes, bool on_device) {
  const auto at = [row](auto* array, std::size_t unit) { return array == nullptr ? nullptr : array + row * unit; };
  Work work;
  work.size = rows;
  work.on_device = on_device;
  work.keys = at(on_device ? static_cast<const std::uint64_t*>(device_keys.data()) : keys.data(), 1);
  work.values = at(on_device ? static_cast<const std::byte*>(device_values.data()) : values.data(), value_bytes);
  work.out = at(on_device ? static_cast<std::byte*>(device_out.data()) : out.data(), value_bytes);
  work.statuses = at(on_device ? static_cast<Status*>(device_statuses.data()) : statuses.data(), 1);
  return work;
}

Caller::Caller(Target& target, const Spec& spec, const Distribution& distribution, unsigned number)
    : target_(target),
      spec_(spec),
      distribution_(distribution),
      number_(number),
      value_bytes_(target.value_bytes()),
      random_(spec.seed * 1000 + number),
      operations_((spec.operations + spec.callers - 1 - number) / spec.callers),
      version_(spec.version) {
  for (unsigned k = 0; k < kKinds; ++k) {
    if (!alone(spec, static_cast<Kind>(k)) || k == static_cast<unsigned>(Kind::read_modify_write)) continue;
    pure_ = true;
    pure_op_ = op_of(static_cast<Kind>(k));
  }
  const bool rewrites = any(spec, Kind::read_modify_write);
  const bool with_values = any(spec, Kind::update) || any(spec, Kind::insert);
  const bool with_out = any(spec, Kind::read) || any(spec, Kind::absent_read) || rewrites;
  const std::size_t row_bytes = 11 + value_bytes_ * (with_values + with_out) + (rewrites ? 9 + value_bytes_ : 0);
  const std::size_t batches = std::max<std::size_t>(1, kRoundBytes / (row_bytes * spec.batch));
  // Caller 0 has the most operations; its rounds are everybody's, so that all are in the same one.
  const std::uint64_t most = (spec.operations + spec.callers - 1) / spec.callers;
  const std::uint64_t needed = (most + spec.batch - 1) / spec.batch;
  round_ = std::min<std::uint64_t>(batches, std::max<std::uint64_t>(needed, 1)) * spec.batch;
  kinds_.resize(round_);
  ops_.resize(pure_ ? 0 : round_);
  main_.allocate(round_, value_bytes_, with_values, with_out, spec.on_device);
  rewrite_.allocate(rewrites ? round_ : 0, value_bytes_, true, false, spec.on_device);
  if (spec.on_device && !pure_) device_ops_ = DeviceArray(round_);
}

Kind Caller::draw_kind() {
  double u = random_.real();
  for (unsigned k = 0; k < kKinds; ++k) {
    if (u < spec_.share[k]) return static_cast<Kind>(k);
    u -= spec_.share[k];
  }
  return static_cast<Kind>(std::max_element(spec_.share.begin(), spec_.share.end()) - spec_.share.begin());
}

std::uint64_t Caller::inserted_item(std::uint64_t turn) const { return spec_.items + turn * spec_.callers + number_; }

std::uint64_t Caller::draw_item(Kind kind, std::uint64_t newest) {
  if (kind == Kind::insert) return inserted_item(inserts_++);
  if (kind == Kind::absent_read) return kAbsentItem + random_.below(kAbsentItem);
  const std::uint64_t item = distribution_.draw(random_, newest, turn_++ * spec_.callers + number_);
  return item < spec_.items ? item : inserted_item(item - spec_.items);  // latest: one that this caller put there
}

void Caller::add(std::size_t row, Kind kind, std::uint64_t key) {
  kinds_[row] = kind;
  ++count_[static_cast<unsigned>(kind)];
  main_.keys[row] = key;
  if (!pure_) ops_[row] = static_cast<std::uint8_t>(op_of(kind));
  if (kind == Kind::update || kind == Kind::insert) {
    fill_value(main_.values.data() + row * value_bytes_, value_bytes_, key, version_);
  }
  if (kind == Kind::read_modify_write) {
    const std::size_t at = rewrite_ends_.back()++;
    rewrite_.keys[at] = key;
    fill_value(rewrite_.values.data() + at * value_bytes_, value_bytes_, key, version_);
  }
}

void Caller::prepare() {
  rows_ = static_cast<std::size_t>(std::min<std::uint64_t>(round_, operations_ - done_));
  done_ += rows_;
  rewrite_ends_.clear();
  std::fill(main_.statuses.begin(), main_.statuses.end(), Status::not_run);
  std::fill(rewrite_.statuses.begin(), rewrite_.statuses.end(), Status::not_run);
  std::fill(main_.out.begin(), main_.out.end(), std::byte{0});
  for (std::size_t row = 0; row < rows_; row += spec_.batch) {
    rewrite_ends_.push_back(rewrite_ends_.empty() ? 0 : rewrite_ends_.back());
    ++version_;
    const std::uint64_t newest = spec_.items + inserts_;
    for (std::size_t i = row; i < std::min(row + spec_.batch, rows_); ++i) {
      const Kind kind = draw_kind();
      add(i, kind, key_of(draw_item(kind, newest), spec_.key_seed));
    }
  }
  if (!spec_.on_device) return;
  main_.upload(rows_, value_bytes_);
  if (!pure_) device_ops_.upload(ops_.data(), rows_);
  rewrite_.upload(rewrite_ends_.empty() ? 0 : rewrite_ends_.back(), value_bytes_);
  DeviceArray::synchronize();
}

void Caller::run() {
  const std::uint8_t* ops = spec_.on_device ? static_cast<const std::uint8_t*>(device_ops_.data()) : ops_.data();
  std::size_t rewritten = 0;
  for (std::size_t row = 0, b = 0; row < rows_; row += spec_.batch, ++b) {
    Work work = main_.work(row, std::min(spec_.batch, rows_ - row), value_bytes_, spec_.on_device);
    work.op = pure_op_;
    work.ops = pure_ ? nullptr : ops + row;
    work.unique = spec_.unique && pure_ && pure_op_ == Op::insert;
    const std::size_t rewrites = rewrite_ends_[b] - rewritten;
    const auto start = Clock::now();
    target_.run(work);
    if (rewrites != 0) {
      Work second = rewrite_.work(rewritten, rewrites, value_bytes_, spec_.on_device);
      second.op = Op::assign;
      target_.run(second);
    }
    plant_delay(start);
    batch_us_.push_back(seconds_since(start) * 1e6);
    rewritten += rewrites;
  }
}

bool Caller::right(std::size_t row, std::size_t& rewrite) const {
  const Kind kind = kinds_[row];
  if (main_.statuses[row] != expected(kind)) return false;
  if (kind == Kind::read_modify_write && rewrite_.statuses[rewrite++] != Status::updated) return false;
  if (kind != Kind::read && kind != Kind::read_modify_write) return true;
  // All callers are in the same round, so no version is newer than its last batch's.
  const std::uint64_t newest = spec_.version + (done_ + round_ - 1) / round_ * (round_ / spec_.batch);
  return right_value(main_.out.data() + row * value_bytes_, value_bytes_, main_.keys[row], newest);
}

void Caller::verify() {
  if (spec_.on_device) {
    main_.download(rows_, value_bytes_);
    rewrite_.download(rewrite_ends_.empty() ? 0 : rewrite_ends_.back(), value_bytes_);
  }
  const std::size_t first_batch = batch_us_.size() - rewrite_ends_.size();
  std::size_t rewrite = 0;
  for (std::size_t row = 0, b = 0; row < rows_; row += spec_.batch, ++b) {
    std::array<bool, kKinds> has = {};
    for (std::size_t i = row; i < std::min(row + spec_.batch, rows_); ++i) {
      has[static_cast<unsigned>(kinds_[i])] = true;
      if (!right(i, rewrite)) ++wrong_;
    }
    for (unsigned k = 0; k < kKinds; ++k) {
      if (has[k]) kind_us_[k].push_back(batch_us_[first_batch + b]);
    }
  }
}

void Caller::report(Outcome& outcome) const {
  outcome.operations += done_;
  outcome.wrong += wrong_;
  outcome.inserted += inserts_;
  outcome.version = std::max(outcome.version, version_);
  outcome.batch_us.insert(outcome.batch_us.end(), batch_us_.begin(), batch_us_.end());
  for (unsigned k = 0; k < kKinds; ++k) {
    outcome.count[k] += count_[k];
    outcome.kind_us[k].insert(outcome.kind_us[k].end(), kind_us_[k].begin(), kind_us_[k].end());
  }
}

}  // namespace holdfast::bench

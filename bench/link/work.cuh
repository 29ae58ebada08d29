// work.cuh: the operations that Bench measures, one after the other. Included by bench.cuh, at its end.
#pragma once

#include "bench.cuh"

namespace holdfast::bench {

inline void Bench::load(std::uint64_t rows, const char* work) {
  Arrays arrays(rows, words_, key_words_);
  std::vector<double> rates;
  Json each = Json::array();  // phases of each batch
  for (std::uint64_t first = 0; first < setup_.items; first += rows) {
    const std::uint64_t n = std::min(rows, setup_.items - first);
    draw(each_from(first), arrays, n, false);
    fill_values(arrays, n);
    const double seconds = timed([&] { change(Op::insert, arrays, n); });
    if (n == rows) rates.push_back(static_cast<double>(n) / seconds / 1e6);
    if (setup_.time_phases) each.push_back(phases_since());
    expect_status(arrays, n, Status::inserted, Status::inserted);
  }
  require_right(work);
  if (!rates.empty()) note(work, rows, 1, rates, rows);
  if (!rates.empty() && setup_.time_phases) note("phase_ms_of_each", each);
}

inline void Bench::insert_items(std::uint64_t first, std::uint64_t rows) {
  Arrays arrays(rows, words_, key_words_);
  draw(each_from(first), arrays, rows, false);
  fill_values(arrays, rows);
  change(Op::insert, arrays, rows);
  wait_all();
  expect_status(arrays, rows, Status::inserted, Status::inserted);
  require_right("insert");
}

inline void Bench::find(const std::string& work, const Draw& from, std::uint64_t rows, unsigned streams, bool absent) {
  const auto each = static_cast<unsigned>(std::clamp<std::uint64_t>(4 * kMi / rows, streams == 1 ? 1 : 4, 64));
  std::vector<std::unique_ptr<Arrays>> arrays;
  for (unsigned i = 0; i < each; ++i) arrays.push_back(std::make_unique<Arrays>(rows, words_, key_words_));
  const bool ran = repeat(
      work, rows, rows * each, 5, streams,
      [&] {
        for (auto& a : arrays) {
          draw(from, *a, rows, absent);
          must(cudaMemset(a->out.data(), 0xee, rows * words_ * 8), "poisoning results");
        }
      },
      [&] {
        for (unsigned i = 0; i < each; ++i) {
          Batch batch = batch_of(*arrays[i], rows, streams_[i % streams]);
          batch.op = Op::find;
          batch.out = arrays[i]->out.data();
          batch.found = arrays[i]->found.data();
          run(batch);
        }
      },
      [&] {
        for (const auto& a : arrays) check(*a, a->out.data(), rows, absent);
      });
  if (ran && each > 1 && streams == 1) note_latency(*arrays[0], rows);
}

inline void Bench::note_latency(const Arrays& arrays, std::uint64_t rows) {
  std::vector<double> latencies;
  for (unsigned r = 0; r < 9; ++r) latencies.push_back(1e6 * timed([&] { search_once(arrays, rows); }));
  runs_.back()["latency_us"] = spread(latencies);
}

inline void Bench::search_once(const Arrays& arrays, std::uint64_t rows) {
  Batch batch = batch_of(arrays, rows, streams_[0]);
  batch.op = Op::find;
  batch.out = arrays.out.data();
  batch.found = arrays.found.data();
  run(batch);
}

template <class Ended>
double Bench::rate_until(const Draw& from, std::uint64_t rows, Ended ended) {
  constexpr unsigned kArrays = 4;
  std::vector<std::unique_ptr<Arrays>> arrays;
  for (unsigned i = 0; i < kArrays; ++i) {
    arrays.push_back(std::make_unique<Arrays>(rows, words_, key_words_));
    draw(from, *arrays[i], rows, false);
  }
  wait_all();
  std::uint64_t batches = 0;
  const auto start = Clock::now();
  for (bool more = true; more; ++batches) {
    const Arrays& next = *arrays[batches % kArrays];
    if (batches % kArrays == 0) must(cudaStreamSynchronize(streams_[0]), "running a batch");
    Batch batch = batch_of(next, rows, streams_[0]);
    batch.op = Op::find;
    batch.out = next.out.data();
    batch.found = next.found.data();
    run(batch);
    more = !ended();
  }
  must(cudaStreamSynchronize(streams_[0]), "running a batch");
  const double seconds = seconds_since(start);
  for (unsigned i = 0; i < std::min<std::uint64_t>(kArrays, batches); ++i)
    check(*arrays[i], arrays[i]->out.data(), rows, false);
  wait_all();
  require_right("find");
  return static_cast<double>(rows * batches) / seconds / 1e6;
}

inline void Bench::contains(const std::string& work, const Draw& from, std::uint64_t rows, bool absent) {
  Arrays arrays(rows, 0, key_words_);
  repeat(
      work, rows, rows, 5, 1, [&] { draw(from, arrays, rows, absent); },
      [&] {
        Batch batch = batch_of(arrays, rows, streams_[0]);
        batch.op = Op::contains;
        batch.found = arrays.found.data();
        run(batch);
      },
      [&] { check(arrays, nullptr, rows, absent); });
}

inline void Bench::update(const std::string& work, const Draw& from, std::uint64_t rows, unsigned repetitions) {
  Arrays arrays(rows, words_, key_words_);
  repeat(
      work, rows, rows, repetitions, 1,
      [&] {
        draw(from, arrays, rows, false);
        ++version_;
        fill_values(arrays, rows);
      },
      [&] { change(Op::assign, arrays, rows); },
      [&] { expect_status(arrays, rows, Status::updated, Status::updated); });
}

inline void Bench::accumulate(const std::string& work, const Draw& from, std::uint64_t rows) {
  Arrays arrays(rows, words_, key_words_);
  GpuArray<std::uint64_t> before(rows * words_);
  const auto amounts = [&](bool less) {
    amount_kernel<<<kBlocks, kThreads>>>(arrays.values.data(), rows, words_, less);
    must(cudaGetLastError(), "making values");
  };
  repeat(
      work, rows, rows, 3, 1,
      [&] {
        draw(from, arrays, rows, false);
        read_into(before.data(), arrays, rows);
        amounts(false);
      },
      [&] { change(Op::accumulate, arrays, rows); },
      [&] {
        expect_status(arrays, rows, Status::updated, Status::updated);
        read_into(arrays.out.data(), arrays, rows);
        check_sums_kernel<<<kBlocks, kThreads>>>(before.data(), arrays.out.data(), rows, words_, wrong_.data());
        must(cudaGetLastError(), "checking answers");
        amounts(true);
        wait_all();
        change(Op::accumulate, arrays, rows);
      });
}

inline void Bench::find_or_insert(const std::string& work, const Draw& from, std::uint64_t rows) {
  Arrays arrays(rows, words_, key_words_);
  repeat(
      work, rows, rows, 3, 1,
      [&] {
        draw(from, arrays, rows, false);
        must(cudaMemset(arrays.out.data(), 0xee, rows * words_ * 8), "poisoning results");
      },
      [&] {
        Batch batch = batch_of(arrays, rows, streams_[0]);
        batch.op = Op::find_or_insert;
        batch.values = arrays.values.data();
        batch.out = arrays.out.data();
        batch.found = arrays.found.data();
        run(batch);
      },
      [&] { check(arrays, arrays.out.data(), rows, false); });
}

inline void Bench::erase(const std::string& work, std::uint64_t rows, unsigned batches) {
  Arrays arrays(rows, words_, key_words_);
  std::vector<double> rates;
  for (unsigned r = 0; r < batches && erased_ + rows <= setup_.items; ++r) {
    draw(each_from(setup_.items - erased_ - rows), arrays, rows, false);
    rates.push_back(static_cast<double>(rows) / timed([&] { change(Op::erase, arrays, rows); }) / 1e6);
    expect_status(arrays, rows, Status::erased, Status::erased);
    erased_ += rows;
  }
  require_right(work.c_str());
  if (!rates.empty()) note(work, rows, 1, rates, rows);
}

inline void Bench::insert_erased(const std::string& work, std::uint64_t rows, unsigned batches) {
  Arrays arrays(rows, words_, key_words_);
  std::vector<double> rates;
  for (unsigned r = 0; r < batches && erased_ >= rows; ++r) {
    draw(each_from(setup_.items - erased_), arrays, rows, false);
    fill_values(arrays, rows);
    rates.push_back(static_cast<double>(rows) / timed([&] { change(Op::insert, arrays, rows); }) / 1e6);
    expect_status(arrays, rows, Status::inserted, Status::inserted);
    erased_ -= rows;
  }
  require_right(work.c_str());
  if (!rates.empty()) note(work, rows, 1, rates, rows);
}

inline void Bench::mixed(const std::string& work, const Draw& from, std::uint64_t rows, unsigned changes_in_20) {
  Arrays arrays(rows, words_, key_words_, true);
  repeat(
      work, rows, rows, 4, 1,
      [&] {
        draw(from, arrays, rows, false);
        ++version_;
        fill_values(arrays, rows);
        mix_kernel<<<kBlocks, kThreads>>>(arrays.ops.data(), rows, changes_in_20, Op::assign, seed_);
        must(cudaMemset(arrays.out.data(), 0xee, rows * words_ * 8), "poisoning results");
      },
      [&] {
        Batch batch = batch_of(arrays, rows, streams_[0]);
        batch.ops = arrays.ops.data();
        batch.values = arrays.values.data();
        batch.out = arrays.out.data();
        batch.statuses = arrays.statuses.data();
        run(batch);
      },
      [&] {
        check_mixed_kernel<<<kBlocks, kThreads>>>(arrays.keys.data(), arrays.ops.data(), arrays.statuses.data(),
                                                  arrays.out.data(), rows, words_, version_, wrong_.data());
        must(cudaGetLastError(), "checking answers");
      });
}

inline void Bench::read_modify_write(const std::string& work, const Draw& from, std::uint64_t rows) {
  Arrays arrays(rows, words_, key_words_);
  repeat(
      work, rows, rows, 4, 1,
      [&] {
        draw(from, arrays, rows, false);
        ++version_;
        fill_values(arrays, rows);
        must(cudaMemset(arrays.out.data(), 0xee, rows * words_ * 8), "poisoning results");
      },
      [&] {
        search_once(arrays, rows);
        change(Op::assign, arrays, rows / 2);
      },
      [&] {
        check(arrays, arrays.out.data(), rows, false);
        expect_status(arrays, rows / 2, Status::updated, Status::updated);
      });
}

}  // namespace holdfast::bench

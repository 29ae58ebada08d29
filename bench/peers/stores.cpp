// stores.cpp: LMDB and RocksDB behind a benchmark's batches, each as its own documents say that it is fast: a batch is one
// transaction, or one WriteBatch and one MultiGet. Neither waits for a disk: what they wrote survives a process, as a pool of
// domain `process` does.
#include "peers/stores.hpp"

#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "holdfast/error.hpp"

#ifdef HOLDFAST_HAVE_LMDB
#include <lmdb.h>
#endif
#ifdef HOLDFAST_HAVE_ROCKSDB
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#endif

namespace holdfast::bench {
namespace {

/// A mixed batch in two halves, its reads and its changes: reads may see the state before or after a batch's changes, which asks less
/// of these stores than of a Table, whose reads are in array order.
[[maybe_unused]] Op op_of(const Work& work, std::size_t i) {
  return work.ops != nullptr ? static_cast<Op>(work.ops[i]) : work.op;
}
[[maybe_unused]] bool any(const Work& work, bool reads) {
  if (work.ops == nullptr) return (work.op == Op::find) == reads;
  for (std::size_t i = 0; i < work.size; ++i) {
    if ((op_of(work, i) == Op::find) == reads) return true;
  }
  return false;
}

#ifdef HOLDFAST_HAVE_LMDB
void must(int error, const char* doing) {
  if (error != 0) throw Error(std::string("LMDB, ") + doing + ": " + mdb_strerror(error));
}

class LmdbTarget final : public Target {
 public:
  LmdbTarget(const std::string& folder, std::uint64_t capacity, std::size_t value_bytes) : value_bytes_(value_bytes) {
    std::filesystem::create_directories(folder);
    must(mdb_env_create(&env_), "creating");
    must(mdb_env_set_mapsize(env_, (std::size_t{1} << 30) + capacity * (value_bytes + 64) * 4), "sizing");
    must(mdb_env_open(env_, folder.c_str(), MDB_NOSYNC | MDB_WRITEMAP | MDB_MAPASYNC | MDB_NORDAHEAD, 0600), "opening");
    const Transaction change(env_, 0);
    must(mdb_dbi_open(change.get(), nullptr, MDB_INTEGERKEY | MDB_CREATE, &table_), "opening");
    change.commit();
  }
  ~LmdbTarget() override { mdb_env_close(env_); }

  void run(const Work& work) override {
    if (any(work, true)) {
      const Transaction read(env_, MDB_RDONLY);
      each(work, true, [&](std::size_t i, MDB_val key) {
        MDB_val value;
        const int error = mdb_get(read.get(), table_, &key, &value);
        if (error == MDB_NOTFOUND) return Status::not_found;
        must(error, "reading");
        std::memcpy(work.out + i * value_bytes_, value.mv_data, value_bytes_);
        return Status::found;
      });
    }
    if (!any(work, false)) return;
    const Transaction change(env_, 0);
    each(work, false, [&](std::size_t i, MDB_val key) { return apply(change.get(), work, i, key); });
    change.commit();
  }
  std::string name() const override { return "lmdb"; }
  std::uint64_t size() const override {
    const Transaction read(env_, MDB_RDONLY);
    MDB_stat stat;
    must(mdb_stat(read.get(), table_, &stat), "counting");
    return stat.ms_entries;
  }
  std::size_t value_bytes() const override { return value_bytes_; }

 private:
  class Transaction {
   public:
    Transaction(MDB_env* env, unsigned flags) { must(mdb_txn_begin(env, nullptr, flags, &transaction_), "beginning"); }
    ~Transaction() {
      if (transaction_ != nullptr) mdb_txn_abort(transaction_);
    }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    MDB_txn* get() const { return transaction_; }
    void commit() const { must(mdb_txn_commit(std::exchange(transaction_, nullptr)), "committing"); }

   private:
    mutable MDB_txn* transaction_ = nullptr;
  };

  template <class One>
  void each(const Work& work, bool reads, One&& one) const {
    for (std::size_t i = 0; i < work.size; ++i) {
      if ((op_of(work, i) == Op::find) != reads) continue;
      work.statuses[i] = one(i, MDB_val{8, const_cast<std::uint64_t*>(work.keys + i)});
    }
  }

  Status apply(MDB_txn* change, const Work& work, std::size_t i, MDB_val key) const {
    MDB_val value{value_bytes_, const_cast<std::byte*>(work.values + i * value_bytes_)};
    const Op op = op_of(work, i);
    if (op == Op::erase) {
      const int error = mdb_del(change, table_, &key, nullptr);
      if (error == MDB_NOTFOUND) return Status::not_found;
      must(error, "erasing");
      return Status::erased;
    }
    const int error = mdb_put(change, table_, &key, &value, op == Op::insert ? MDB_NOOVERWRITE : 0);
    if (error == MDB_KEYEXIST) return Status::exists;
    must(error, "writing");
    return op == Op::insert ? Status::inserted : Status::updated;
  }

  const std::size_t value_bytes_;
  MDB_env* env_ = nullptr;
  MDB_dbi table_ = 0;
};
#endif

#ifdef HOLDFAST_HAVE_ROCKSDB
void must(const rocksdb::Status& status, const char* doing) {
  if (!status.ok()) throw Error(std::string("RocksDB, ") + doing + ": " + status.ToString());
}

class RocksdbTarget final : public Target {
 public:
  RocksdbTarget(const std::string& folder, std::uint64_t capacity, std::size_t value_bytes)
      : value_bytes_(value_bytes) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.IncreaseParallelism(2);
    const std::uint64_t bytes = (std::uint64_t{256} << 20) + 2 * capacity * (value_bytes + 32);
    options.OptimizeForPointLookup(bytes >> 20);  // a cache for everything, hashed blocks, Bloom filters
    options.compression = rocksdb::kNoCompression;
    options.write_buffer_size = std::size_t{256} << 20;
    options.max_write_buffer_number = 4;
    options.allow_mmap_reads = true;
    rocksdb::DB* opened = nullptr;
    must(rocksdb::DB::Open(options, folder, &opened), "opening");
    db_.reset(opened);
  }

  void run(const Work& work) override {
    if (any(work, true)) read(work);
    if (any(work, false)) change(work);
  }
  /// What a load left in memory goes into files that are searched fast.
  void settle() override {
    must(db_->Flush({}), "flushing");
    must(db_->CompactRange({}, nullptr, nullptr), "compacting");
  }
  std::string name() const override { return "rocksdb"; }
  std::uint64_t size() const override {
    std::uint64_t count = 0;
    db_->GetIntProperty("rocksdb.estimate-num-keys", &count);
    return count;
  }
  std::size_t value_bytes() const override { return value_bytes_; }

 private:
  static rocksdb::Slice slice(const void* from, std::size_t bytes) { return {static_cast<const char*>(from), bytes}; }

  void read(const Work& work) const {
    std::vector<rocksdb::Slice> keys;
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < work.size; ++i) {
      if (op_of(work, i) != Op::find) continue;
      keys.push_back(slice(work.keys + i, 8));
      rows.push_back(i);
    }
    std::vector<rocksdb::PinnableSlice> values(keys.size());
    std::vector<rocksdb::Status> statuses(keys.size());
    db_->MultiGet({}, db_->DefaultColumnFamily(), keys.size(), keys.data(), values.data(), statuses.data());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (statuses[i].IsNotFound()) {
        work.statuses[rows[i]] = Status::not_found;
        continue;
      }
      must(statuses[i], "reading");
      std::memcpy(work.out + rows[i] * value_bytes_, values[i].data(), value_bytes_);
      work.statuses[rows[i]] = Status::found;
    }
  }

  /// Blind writes, which is what RocksDB is best at: it says that each did what the workload meant it to do.
  void change(const Work& work) const {
    rocksdb::WriteBatch batch;
    for (std::size_t i = 0; i < work.size; ++i) {
      const Op op = op_of(work, i);
      if (op == Op::find) continue;
      const rocksdb::Slice key = slice(work.keys + i, 8);
      if (op == Op::erase) {
        must(batch.Delete(key), "erasing");
        work.statuses[i] = Status::erased;
      } else {
        must(batch.Put(key, slice(work.values + i * value_bytes_, value_bytes_)), "writing");
        work.statuses[i] = op == Op::insert ? Status::inserted : Status::updated;
      }
    }
    rocksdb::WriteOptions options;
    options.sync = false;  // the log is written, and survives the process
    must(db_->Write(options, &batch), "writing");
  }

  const std::size_t value_bytes_;
  std::unique_ptr<rocksdb::DB> db_;
};
#endif

}  // namespace

std::unique_ptr<Target> lmdb_target([[maybe_unused]] const std::string& folder, [[maybe_unused]] std::uint64_t capacity,
                                    [[maybe_unused]] std::size_t value_bytes) {
#ifdef HOLDFAST_HAVE_LMDB
  return std::make_unique<LmdbTarget>(folder, capacity, value_bytes);
#else
  throw InvalidArgument("this build has no LMDB: install liblmdb-dev and build again");
#endif
}

std::unique_ptr<Target> rocksdb_target([[maybe_unused]] const std::string& folder,
                                       [[maybe_unused]] std::uint64_t capacity,
                                       [[maybe_unused]] std::size_t value_bytes) {
#ifdef HOLDFAST_HAVE_ROCKSDB
  return std::make_unique<RocksdbTarget>(folder, capacity, value_bytes);
#else
  throw InvalidArgument("this build has no RocksDB: install librocksdb-dev and build again");
#endif
}

std::vector<std::string> stores() {
  std::vector<std::string> names;
#ifdef HOLDFAST_HAVE_LMDB
  names.emplace_back("lmdb");
#endif
#ifdef HOLDFAST_HAVE_ROCKSDB
  names.emplace_back("rocksdb");
#endif
  return names;
}

}  // namespace holdfast::bench

// exercise_pool.cpp: a user's whole day with a pool of several objects.
#include "support/exercise_pool.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "holdfast/table.hpp"
#include "pool/superblock.hpp"
#include "support/image.hpp"

namespace holdfast::test {
namespace {

constexpr std::size_t kComparedBytes = std::size_t{8} << 20;  ///< larger files are not compared as a whole
constexpr const char* kMadeHere = "made here";

/// What kind of error a damaged pool or object gives; "" if it gives none.
struct Refusal {
  std::string text;
  bool of_the_file = false;  ///< it says that the bytes are bad, and not that the machine has no room for them
};

class Day {
 public:
  Day(const std::string& path, const std::map<std::uint32_t, Items>& intact, bool salvage, PoolExercised& result)
      : path_(path), intact_(intact), salvage_(salvage), result_(result) {}

  void run() {
    look();
    attempt("check", [&] { check(path_); });
    read_only();
    require_same_file("only looked at");
    std::optional<Pool> pool = open(false);
    if (!pool) return require_same_file("refused");
    result_.opened = true;
    use_objects(*pool);
    copy(*pool);
    change_directory(*pool);
    const Refusal closing = attempt("close", [&] { pool->close(); });
    if (!closing.text.empty()) wrong("does not close: " + closing.text);
    pool.reset();
    open_again();
  }

  void glance(std::uint64_t turn) {
    look();
    std::optional<Pool> pool = open(false);
    if (!pool) return require_same_file("refused");
    result_.opened = true;
    auto chosen = intact_.begin();
    if (!intact_.empty()) std::advance(chosen, static_cast<std::ptrdiff_t>(turn % intact_.size()));
    for (const ObjectInfo& object : pool->objects()) {
      const bool intact = intact_.count(object.number) != 0;
      if (!intact || object.number == chosen->first) use(*pool, object, false);
    }
  }

 private:
  void wrong(const std::string& what) { result_.wrong += what + "; "; }

  /// Runs `work`; returns the Error that it threw. Anything else that is thrown is wrong.
  template <class Work>
  Refusal attempt(const std::string& what, const Work& work) {
    try {
      work();
      return {};
    } catch (const PoolCorrupt& error) {
      return {error.what(), true};
    } catch (const PoolVersion& error) {
      return {error.what(), true};
    } catch (const PoolMismatch& error) {
      return {error.what(), true};
    } catch (const PowerLost& error) {
      return {error.what(), true};
    } catch (const Error& error) {
      return {error.what(), false};
    } catch (const std::exception& error) {
      wrong(what + " threw something that is no holdfast::Error: " + error.what());
      return {error.what(), false};
    }
  }

  void require_same_file(const char* when) {
    if (!before_.empty() && read_file(path_) != before_) wrong(std::string("the file was written to, though ") + when);
  }

  void look() {
    before_ = std::filesystem::file_size(path_) <= kComparedBytes ? read_file(path_) : "";
    const Refusal refusal = attempt("inspect", [&] { info_ = inspect(path_); });
    refusal_ = refusal.text;
    if (!refusal.text.empty() && !refusal.of_the_file) wrong("inspect cannot tell what is wrong: " + refusal.text);
    if (!refusal.text.empty() && refusal.text.rfind(path_, 0) != 0) wrong("no path before: " + refusal.text);
    for (const ObjectInfo& object : info_.objects) {
      result_.listed[object.number] = object.damage;
      if (intact_.count(object.number) != 0 && !object.damage.empty())
        wrong("object " + std::to_string(object.number) + " is listed as damaged: " + object.damage);
    }
    for (const auto& [number, items] : intact_) {
      if (refusal_.empty() && result_.listed.count(number) == 0) wrong("no object " + std::to_string(number));
    }
  }

  /// Only who writes needs room for what the file claims to hold: reading believes more of a sparse copy.
  bool lacks_space(const Refusal& refusal) const {
    struct stat facts {};
    return refusal.text.find(" are on its medium") != std::string::npos && stat(path_.c_str(), &facts) == 0 &&
           2 * 512 * facts.st_blocks < facts.st_size;
  }

  /// Nothing if it is refused: in the words of `inspect`, or for what only an open needs. A file that was cut short is opened to salvage it, or refused for
  /// what lies behind the cut.
  std::optional<Pool> open(bool read_only) {
    std::optional<Pool> pool;
    const PoolOptions options{.read_only = read_only, .salvage = salvage_ && read_only};
    const Refusal refusal = attempt("open", [&] { pool.emplace(Pool::open(path_, options)); });
    const bool for_space = !read_only && refusal_.empty() && lacks_space(refusal);
    const bool same = refusal.of_the_file ? refusal.text == refusal_ : refusal_.empty();
    const bool is_cut = options.salvage && refusal_.find("reaches beyond the end of the file") != std::string::npos;
    if (!same && !for_space && !is_cut) wrong("open says: " + refusal.text + ", and inspect: " + refusal_);
    result_.error = refusal.text;
    return pool;
  }

  OpenOptions table_options() const {
    OpenOptions options;
    options.runtime.device = "cpu";
    options.runtime.threads = 1;
    options.salvage = salvage_;
    return options;
  }

  void read_only() {
    std::optional<Pool> pool = open(true);
    if (!pool) return;
    for (const ObjectInfo& object : pool->objects()) {
      Exercised exercised;
      attempt("reading " + object.name, [&] {
        Table table = pool->table(object.name, table_options());
        const auto wanted = intact_.find(object.number);
        read_all(table, wanted == intact_.end() ? nullptr : &wanted->second, exercised);
      });
      if (!exercised.wrong.empty()) wrong(object.name + " read-only: " + exercised.wrong);
    }
  }

  void use_objects(Pool& pool) {
    const std::vector<ObjectInfo> objects = pool.objects();
    if (objects.size() != info_.objects.size()) wrong("an open pool lists other objects");
    for (const ObjectInfo& object : objects) {
      names_[object.number] = object.name;
      if (object.damage != result_.listed[object.number]) wrong("an open pool lists other damage of " + object.name);
      use(pool, object, true);
    }
  }

  void read_all(Table& table, const Items* expected, Exercised& exercised) {
    const CheckReport report = table.check();
    exercised.repaired = !report.repairs.empty();
    exercised.damage_reported = !report.errors.empty();
    const Items items = export_all(table, exercised);
    if (expected != nullptr && items != *expected) exercised.wrong += "other items than were put there; ";
  }

  void use(Pool& pool, const ObjectInfo& object, bool changes) {
    const auto wanted = intact_.find(object.number);
    const Items* const expected = wanted == intact_.end() ? nullptr : &wanted->second;
    Exercised exercised;
    Items items;
    const Refusal refusal = attempt(object.name, [&] {
      Table table = pool.table(object.name, table_options());
      if (!object.damage.empty()) wrong(object.name + " opens, and is listed as damaged: " + object.damage);
      if (changes) {
        exercise_table(table, expected, items, exercised);
      } else {
        read_all(table, expected, exercised);
      }
    });
    if (!exercised.wrong.empty()) wrong(object.name + ": " + exercised.wrong);
    result_.repaired = result_.repaired || exercised.repaired;
    result_.damage_found = result_.damage_found || exercised.damage_reported;
    if (!refusal.text.empty()) {
      refuse(object, refusal);
      if (expected != nullptr) wrong(object.name + " must open, but: " + refusal.text);
    } else if (!exercised.damage_reported) {
      sound_[object.number] = items;
    } else if (expected != nullptr) {
      wrong(object.name + " is intact, but: " + exercised.error);
    }
  }

  void refuse(const ObjectInfo& object, const Refusal& refusal) {
    result_.refused[object.number] = refusal.text;
    if (!refusal.of_the_file && !object.damage.empty()) wrong("a vague refusal: " + refusal.text);
    const bool named = refusal.text.rfind(path_ + ":" + object.name + " ", 0) == 0;
    if (refusal.of_the_file && !named) wrong("no name before: " + refusal.text);
    if (before_.empty() || object.damage.empty()) return;  // what only recovery refuses was opened
    const std::string now = read_file(path_);
    for (const ExtentInfo& extent : object.extents) {
      if (now.compare(extent.offset, extent.bytes, before_, extent.offset, extent.bytes) != 0)
        wrong(object.name + " was written to, though refused");
    }
  }

  /// What is copied is what there is: sound tables with their items, and damaged ones with their damage.
  void copy(Pool& pool) {
    const std::string to = path_ + "-copy";
    const Refusal refusal = attempt("snapshot", [&] {
      std::optional<Table> one_open;
      if (!sound_.empty()) one_open.emplace(pool.table(names_[sound_.begin()->first], table_options()));
      SnapshotOptions options;
      options.overwrite = true;
      pool.snapshot(to, options);
    });
    if (!refusal.text.empty()) {
      if (!intact_.empty() || refusal.of_the_file) wrong("no snapshot: " + refusal.text);
      return;
    }
    const std::vector<ObjectInfo> objects = pool.objects();
    {
      Pool copied = Pool::open(to);
      require_same_objects(objects, copied.objects());
      require_items(copied, "in the snapshot");
    }
    std::filesystem::remove(to);
  }

  void require_same_objects(const std::vector<ObjectInfo>& source, const std::vector<ObjectInfo>& copy) {
    if (source.size() != copy.size()) return wrong("a snapshot has other objects");
    for (std::size_t i = 0; i < source.size(); ++i) {
      const bool same = source[i].number == copy[i].number && source[i].name == copy[i].name &&
                        source[i].type == copy[i].type && source[i].type_version == copy[i].type_version &&
                        source[i].bytes >= copy[i].bytes &&  // fewer where the copy is a compact one
                        source[i].damage.empty() == copy[i].damage.empty();
      if (!same) wrong("a snapshot has another " + source[i].name + ": " + source[i].damage + ", " + copy[i].damage);
    }
  }

  /// Every sound table opens, with its items.
  void require_items(Pool& pool, const std::string& when) {
    for (const ObjectInfo& object : pool.objects()) {
      const auto wanted = sound_.find(object.number);
      if (wanted == sound_.end()) continue;
      Exercised exercised;
      const Refusal refusal = attempt(object.name, [&] {
        Table table = pool.table(object.name, table_options());
        if (export_all(table, exercised) != wanted->second) wrong(object.name + " has other items " + when);
      });
      if (!refusal.text.empty()) wrong(object.name + " does not open " + when + ": " + refusal.text);
    }
  }

  void change_directory(Pool& pool) {
    const auto made = attempt("create_table", [&] {
      CreateOptions options;
      options.shape.capacity = 16;
      options.runtime.device = "cpu";
      options.runtime.threads = 1;
      Table table = pool.create_table(kMadeHere, options);
      const std::uint64_t key = 4711;
      table.insert(&key, &key, 1);
    });
    made_ = made.text.empty();
    if (!made_ && !intact_.empty()) wrong("no new table: " + made.text);
    if (!names_.empty()) {
      const Refusal refusal = attempt("rename", [&] { pool.rename(names_.begin()->second, "renamed here"); });
      if (!refusal.text.empty()) wrong("cannot rename: " + refusal.text);
    }
    for (const ObjectInfo& object : pool.objects()) {
      if (result_.refused.count(object.number) == 0) continue;
      const Refusal refusal = attempt("drop", [&] { pool.drop(object.name); });
      if (!refusal.text.empty()) wrong("cannot drop " + object.name + ": " + refusal.text);
    }
  }

  void open_again() {
    const Refusal refusal = attempt("open again", [&] {
      Pool pool = Pool::open(path_);
      std::set<std::uint32_t> there;
      for (const ObjectInfo& object : pool.objects()) there.insert(object.number);
      if (there.size() != names_.size() - result_.refused.size() + (made_ ? 1 : 0)) wrong("reopened, objects differ");
      for (const auto& [number, why] : result_.refused) {
        if (there.count(number) != 0) wrong("object " + std::to_string(number) + " is still there");
      }
      require_items(pool, "after all");
      if (result_.damage_found) return;
      for (const std::string& error : pool.check().errors) {
        if (!stays_marked(error)) wrong("damaged by changes: " + error);
      }
    });
    if (!refusal.text.empty() && !stays_marked(refusal.text)) wrong("does not open again: " + refusal.text);
  }

  /// What was opened by salvage; of an object alone in its pool, `check` throws it.
  bool stays_marked(const std::string& error) const {
    return salvage_ && error.find(" keeps nothing that was not synced") != std::string::npos;
  }

  const std::string path_;
  const std::map<std::uint32_t, Items>& intact_;
  const bool salvage_;
  PoolExercised& result_;
  std::string before_;   ///< the file, if it is small
  std::string refusal_;  ///< by `inspect`
  PoolInfo info_;
  std::map<std::uint32_t, std::string> names_;
  std::map<std::uint32_t, Items> sound_;  ///< what the tables hold that no check found damaged
  bool made_ = false;
};

}  // namespace

PoolExercised exercise_pool(const std::string& path, const std::map<std::uint32_t, Items>& intact, bool salvage) {
  PoolExercised result;
  Day(path, intact, salvage, result).run();
  return result;
}

PoolExercised glance_at_pool(const std::string& path, const std::map<std::uint32_t, Items>& intact,
                             std::uint64_t turn) {
  PoolExercised result;
  Day(path, intact, false, result).glance(turn);
  return result;
}

}  // namespace holdfast::test

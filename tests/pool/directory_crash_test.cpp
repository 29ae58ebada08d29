// directory_crash_test.cpp: a commit to the directory is crashed at every store; the old one or the new must be left, whole.
#include <set>

#include "core/hash.hpp"
#include "pool/commit.hpp"
#include "pool/edit.hpp"
#include "pool_test.hpp"
#include "proof/arena.hpp"
#include "proof/explorer.hpp"

namespace holdfast::pool {
namespace {

constexpr std::size_t kUsed = 1024;  // of an area, by the small directories here

/// What of a pool a commit writes.
struct Header {
  alignas(64) Superblock block[2];
  std::byte area[2][kUsed];
};

using proof::Words;
constexpr unsigned kWords = sizeof(Header) / 8;

Words words_of(const Header& header) {
  Words words(kWords);
  std::memcpy(words.data(), &header, sizeof header);
  return words;
}

/// What is planted: a fence that does nothing (0 behind the area, 1 and 2 behind the copies), or no flush.
struct Planted {
  unsigned without_fence = ~0u;
  bool without_flushes = false;
};

/// Shipped code that writes to a header, crashed before each of its accesses. `look` says what is wrong with what a crash leaves.
class Writer final : public proof::Callers {
 public:
  /// The policy that the shipped code is given.
  struct Memory {
    Writer& writer;
    void store(std::uint64_t* word, std::uint64_t value) const {
      writer.step();
      writer.arena_.store(0, word, value);
    }
    void flush(const void* address, std::size_t bytes) const {
      writer.step();
      if (!writer.planted_.without_flushes) writer.arena_.flush(0, address, bytes);
    }
    void fence() const {
      writer.step();
      if (writer.fences_++ != writer.planted_.without_fence) writer.arena_.fence(0);
    }
  };
  static_assert(WritableMemory<Memory>);
  using Code = std::function<void(const Memory&, Header&)>;
  using Look = std::function<std::string(const Words&)>;

  Writer(proof::Stores stores, const Words& before, Code code, Look look, const Planted& planted = {})
      : arena_(stores, {.words = kWords, .rewritten_end = kWords}),
        before_(before),
        code_(std::move(code)),
        look_(std::move(look)),
        planted_(planted) {}

  unsigned count() const override { return 1; }
  void restart() override {
    arena_.load(before_);
    steps_ = fences_ = 0;
  }
  void run(unsigned) override {
    const Memory memory{*this};
    code_(memory, *reinterpret_cast<Header*>(arena_.words()));
  }
  std::uint64_t hash() const override { return arena_.hash() + mix(steps_); }
  std::string crash() override {
    if (!crashed_.insert(arena_.hash()).second) return {};
    std::string wrong;
    arena_.images([&](const Words& image, std::uint64_t hash) {
      ++images_;
      if (wrong.empty() && looked_.insert(hash).second) wrong = look_(image);
    });
    return wrong;
  }
  std::string end() override { return arena_.all_settled() ? "" : "something is not durable at the end"; }

  std::uint64_t images() const { return images_; }
  const Words& settled() const { return arena_.settled(); }

 private:
  void step() {
    access();
    ++steps_;
  }

  proof::Arena arena_;
  const Words before_;
  const Code code_;
  const Look look_;
  const Planted planted_;
  unsigned steps_ = 0, fences_ = 0;
  std::uint64_t images_ = 0;
  std::set<std::uint64_t> crashed_, looked_;
};

/// A pool's header before a commit, and what the commit writes: a table is made, another renamed, a third dropped.
struct Commit {
  Header before = {};
  Superblock next = {};
  std::vector<std::byte> old_directory, new_directory;
};

Header read_header(const std::string& path) {
  Header header = {};
  const std::vector<char> bytes = read_all(path);
  std::memcpy(header.block, bytes.data(), sizeof header.block);
  for (unsigned area = 0; area < 2; ++area) std::memcpy(header.area[area], bytes.data() + area_offset(area), kUsed);
  return header;
}

Commit sample_commit() {
  const Folder folder("/dev/shm");
  const std::string path = folder / "a.hold";
  NewPool made(path, false);
  for (const char* const name : {"one", "two"}) TableObject::create(made.pool(), name, small_shape(), {.label = path});
  made.publish();
  PoolFile& pool = *made.pool();
  Commit commit;
  commit.before = read_header(path);
  commit.old_directory = encode(*pool.directory());
  Edit edit(pool);
  edit.rename(1, "eins");
  edit.drop(2);
  const std::uint32_t number = edit.create({.name = "two"});
  edit.add(number, kPagesRole, 0, 2 * kPage);
  edit.commit();
  commit.next = pool.superblock();
  commit.new_directory = encode(*pool.directory());
  EXPECT_LE(commit.new_directory.size(), kUsed);
  return commit;
}

Choice choice_in(const Header& image) {
  return choose_copy(image.block[0], image.block[1], [](const Superblock& block) { return is_intact(block); });
}

/// The directory that counts in an image, as bytes; empty if none does.
std::vector<std::byte> directory_in(const Header& image) {
  static std::vector<std::byte> area(kAreaBytes);
  const Choice choice = choice_in(image);
  if (choice.copy < 0) return {};
  const Superblock& block = image.block[choice.copy];
  std::memcpy(area.data(), image.area[block.area], kUsed);
  Directory directory;
  return decode(area.data(), block.generation, ~std::uint64_t{0}, directory).empty() ? encode(directory)
                                                                                     : std::vector<std::byte>();
}

struct Outcome {
  std::string wrong;
  std::uint64_t images = 0, older = 0, newer = 0, mended = 0;
};

/// Writes the copies of an image as opening does, and crashes that: the directory that counted counts for ever.
std::string mend(proof::Stores stores, const Words& words, Outcome& outcome) {
  const Header& image = *reinterpret_cast<const Header*>(words.data());
  const Choice choice = choice_in(image);
  if (choice.copy < 0 || choice.equal) return {};
  const std::vector<std::byte> counted = directory_in(image);
  const Superblock good = image.block[choice.copy];
  const unsigned other = choice.copy == 0 ? 1 : 0;
  Writer writer(
      stores, words,
      [&](const Writer::Memory& memory, Header& header) { write_copy(memory, &header.block[other], good); },
      [&](const Words& left) {
        const bool same = directory_in(*reinterpret_cast<const Header*>(left.data())) == counted;
        return same ? "" : "a crash while a copy was mended left another directory";
      });
  const proof::Explored explored = proof::explore(writer);
  outcome.mended += writer.images();
  return explored.failure;
}

Outcome crash_everywhere(const Commit& commit, proof::Stores stores, const Planted& planted = {}) {
  Outcome outcome;
  std::set<std::uint64_t> mended;
  Writer writer(
      stores, words_of(commit.before),
      [&](const Writer::Memory& memory, Header& header) {
        commit_directory(memory, header.area[commit.next.area], commit.new_directory.data(),
                         commit.new_directory.size(), header.block, commit.next);
      },
      [&](const Words& left) -> std::string {
        const Header& image = *reinterpret_cast<const Header*>(left.data());
        const std::vector<std::byte> found = directory_in(image);
        if (found != commit.old_directory && found != commit.new_directory) return "neither directory is left";
        ++(found == commit.old_directory ? outcome.older : outcome.newer);
        if (!mended.insert(checksum(image.block, sizeof image.block)).second) return {};
        return mend(stores, left, outcome);
      },
      planted);
  outcome.wrong = proof::explore(writer).failure;
  outcome.images = writer.images();
  if (!outcome.wrong.empty()) return outcome;
  const Header& last = *reinterpret_cast<const Header*>(writer.settled().data());
  EXPECT_EQ(directory_in(last), commit.new_directory);
  EXPECT_TRUE(choice_in(last).equal);
  return outcome;
}

class DirectoryCrash : public ::testing::TestWithParam<proof::Stores> {};

/// Images of a commit; those that differ, with the old and with the new directory; and images of mending.
/// Fewer of any say that the proof has become weaker.
constexpr std::uint64_t kFound[][4] = {{21, 17, 4, 14}, {2147, 604, 6, 87}, {10305, 5267, 8, 88}};

TEST_P(DirectoryCrash, AlwaysLeavesTheOldOrTheNew) {
  const Outcome outcome = crash_everywhere(sample_commit(), GetParam());
  EXPECT_EQ(outcome.wrong, "");
  const std::uint64_t found[] = {outcome.images, outcome.older, outcome.newer, outcome.mended};
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(found[i], kFound[static_cast<unsigned>(GetParam())][i]) << i;
}

TEST_P(DirectoryCrash, SeesAMissingFenceAndAMissingFlush) {
  const Commit commit = sample_commit();
  const auto is_seen = [&](const Planted& planted) {
    return !crash_everywhere(commit, GetParam(), planted).wrong.empty();
  };
  const bool may_lose = GetParam() != proof::Stores::all;
  EXPECT_EQ(is_seen({.without_fence = 0}), may_lose) << "behind the area";
  EXPECT_EQ(is_seen({.without_fence = 1}), may_lose) << "behind copy A";
  EXPECT_EQ(is_seen({.without_fence = 2}), may_lose) << "behind copy B";
  EXPECT_EQ(is_seen({.without_flushes = true}), GetParam() == proof::Stores::by_line) << "a GPU's stores need none";
}

std::string name_of(const ::testing::TestParamInfo<proof::Stores>& info) {
  const char* const names[] = {"killed", "power", "gpu"};
  return names[static_cast<unsigned>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(All, DirectoryCrash,
                         ::testing::Values(proof::Stores::all, proof::Stores::by_line, proof::Stores::by_word),
                         name_of);

}  // namespace
}  // namespace holdfast::pool

// expire: lets go of sessions that have ended, chosen on the GPU by their values, and lists those that end soon. Usage: expire [POOL]
#include <holdfast/device_selection.cuh>
#include <holdfast/table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

namespace {

using User = std::uint64_t;
struct Visit {
  std::uint64_t began, expires;  // seconds
  std::uint32_t pages[24];
};

void must(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

/// How many had expired. Durable when it returns.
std::uint64_t expire(holdfast::Table& visits, cudaStream_t stream, std::uint64_t now) {
  return holdfast::erase_if<User, Visit>(
      visits, stream, [=] __device__(const User&, const Visit* visit) { return visit->expires <= now; });
}

/// Users whose visits end by then, in GPU memory, for kernels that want them there.
holdfast::Chosen ending(holdfast::Table& visits, cudaStream_t stream, std::uint64_t by, User* users,
                        std::uint64_t capacity) {
  holdfast::DeviceSelection selection;  // of 112 bytes, the predicate looks at 8
  selection.column = offsetof(Visit, expires);
  selection.column_bytes = sizeof(Visit::expires);
  return holdfast::export_if<User, std::uint64_t>(
      visits, stream, [=] __device__(const User&, const std::uint64_t* expires) { return *expires <= by; }, users,
      nullptr, capacity, selection);
}

/// Of the guests, whose numbers are odd: no value is read.
std::uint64_t guests(holdfast::Table& visits, cudaStream_t stream) {
  return holdfast::size_if(visits, stream, holdfast::by_key([] __device__(const User& user) { return user % 2 == 1; }));
}

}  // namespace

int main(int argc, char** argv) try {
  if (std::string why; holdfast::cuda_devices(&why) == 0) {
    std::printf("expire: %s\n", why.c_str());
    return 0;
  }
  constexpr std::uint64_t kUsers = 100'000, kHour = 3600;
  std::vector<User> users(kUsers);
  std::vector<Visit> begun(kUsers);
  for (User user = 0; user < kUsers; ++user) {
    users[user] = user;
    begun[user] = {user, user + kHour, {}};  // one begins every second
  }
  auto visits = holdfast::Table::create(
      argc > 1 ? argv[1] : "/dev/shm/expire.hold",
      {.shape = {.value_bytes = sizeof(Visit), .capacity = kUsers}, .runtime = {.device = "cuda"}, .overwrite = true});
  visits.insert(users.data(), begun.data(), kUsers);

  cudaStream_t stream = nullptr;
  User* soon = nullptr;
  must(cudaStreamCreate(&stream));
  must(cudaMalloc(&soon, 100 * sizeof(User)));
  const std::uint64_t now = kUsers;
  const std::uint64_t gone = expire(visits, stream, now), stay = visits.size();
  const std::uint64_t odd = guests(visits, stream);
  const holdfast::Chosen next = ending(visits, stream, now + 60, soon, 100);
  std::vector<User> listed(next.given);
  must(cudaMemcpy(listed.data(), soon, listed.size() * sizeof(User), cudaMemcpyDeviceToHost));
  std::sort(listed.begin(), listed.end());
  std::printf(
      "%llu visits have expired, %llu go on, %llu of them guests'; %llu end within a minute, the first user %llu's\n",
      static_cast<unsigned long long>(gone), static_cast<unsigned long long>(stay),
      static_cast<unsigned long long>(odd), static_cast<unsigned long long>(next.all),
      static_cast<unsigned long long>(listed.empty() ? 0 : listed.front()));
  must(cudaFree(soon));
  must(cudaStreamDestroy(stream));

  const User first = now - kHour + 1;  // the first that has not expired
  bool right = gone == first && stay == kUsers - first && odd == stay / 2 + stay % 2 * (first % 2) && next.complete() &&
               next.all == 60;
  for (std::size_t i = 0; i < listed.size(); ++i) right = right && listed[i] == first + i;
  std::puts(right ? "as it should be" : "not as it should be");
  return right ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "expire: %s\n", error.what());
  return 1;
}

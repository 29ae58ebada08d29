// degrees: builds the degree table of a graph inside a kernel of its own, a warp an edge at a time. Usage: degrees [POOL]
#include <holdfast/table.hpp>
#include <holdfast/table_ref.cuh>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

using Vertex = std::uint64_t;
struct Edge {
  Vertex from, to;
};
using Degrees = holdfast::TableRef<Vertex, std::uint32_t>;  // the number of edges at each vertex

/// Each lane brings an edge, and the warp counts one after another.
__global__ void count_degrees(Degrees degrees, const Edge* edges, unsigned size) {
  namespace cg = cooperative_groups;
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 32, all = gridDim.x * blockDim.x;
  for (unsigned base = first; base < size; base += all) {
    const unsigned mine = base + warp.thread_rank();
    const Edge edge = mine < size ? edges[mine] : Edge{};
    for (unsigned lane = 0; lane < 32 && base + lane < size; ++lane) {
      degrees.accumulate(warp, warp.shfl(edge.from, lane), 1u);
      degrees.accumulate(warp, warp.shfl(edge.to, lane), 1u);
    }
  }
}

/// About as many vertices and edges as the votes on Wikipedia's administrators: few vertices have most of them.
std::vector<Edge> some_edges() {
  constexpr double kVertices = 7115;
  std::mt19937_64 random(42);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto vertex = [&] { return static_cast<Vertex>(std::pow(kVertices, uniform(random))) - 1; };
  std::vector<Edge> edges(103'689);
  for (Edge& edge : edges) edge = {vertex(), vertex()};
  return edges;
}

void must(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

}  // namespace

int main(int argc, char** argv) try {
  if (std::string why; holdfast::cuda_devices(&why) == 0) {
    std::printf("degrees: %s\n", why.c_str());
    return 0;
  }
  const std::vector<Edge> edges = some_edges();
  Edge* on_gpu = nullptr;
  cudaStream_t stream = nullptr;
  must(cudaStreamCreate(&stream));
  must(cudaMalloc(&on_gpu, edges.size() * sizeof(Edge)));
  must(cudaMemcpy(on_gpu, edges.data(), edges.size() * sizeof(Edge), cudaMemcpyHostToDevice));

  auto table = holdfast::Table::create(argc > 1 ? argv[1] : "/dev/shm/degrees.hold",
                                       {.shape = {.value_bytes = sizeof(std::uint32_t), .capacity = 10'000},
                                        .runtime = {.device = "cuda"},
                                        .overwrite = true});
  auto session = table.session(stream, 10'000);  // as many vertices at most
  count_degrees<<<64, 256, 0, stream>>>(session.ref<Vertex, std::uint32_t>(), on_gpu,
                                        static_cast<unsigned>(edges.size()));
  must(cudaGetLastError());
  session.commit(stream);
  must(cudaStreamSynchronize(stream));  // durable

  std::vector<Vertex> vertices(table.size());
  std::vector<std::uint32_t> degrees(vertices.size());
  std::uint64_t cursor = 0;
  vertices.resize(table.export_batch(cursor, vertices.data(), degrees.data(), vertices.size()));
  std::vector<std::uint32_t> order(vertices.size()), expected(8000);
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return degrees[a] > degrees[b]; });
  std::printf("%zu edges, %zu vertices; the highest degrees:\n", edges.size(), vertices.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(5, order.size()); ++i)
    std::printf("  vertex %llu: %u\n", static_cast<unsigned long long>(vertices[order[i]]), degrees[order[i]]);

  for (const Edge& edge : edges) {
    ++expected[edge.from];
    ++expected[edge.to];
  }
  bool right = static_cast<std::size_t>(
                   std::count_if(expected.begin(), expected.end(), [](auto d) { return d != 0; })) == vertices.size();
  for (std::size_t i = 0; i < vertices.size(); ++i) right = right && degrees[i] == expected[vertices[i]];
  must(cudaFree(on_gpu));
  must(cudaStreamDestroy(stream));
  std::puts(right ? "as counted on the CPU" : "not as counted on the CPU");
  return right ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "degrees: %s\n", error.what());
  return 1;
}

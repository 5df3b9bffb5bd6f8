// Threads of a graphics card, emulated on the processor for tests of accel/constituency/parse.cu.
//
// LANES * WARPS threads of the operating system run a block; with one lane and one warp nothing
// has to wait for anything, and the kernels are plain loops.
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#ifndef LANES
#define LANES 1
#endif
#ifndef WARPS
#define WARPS 1
#endif
#define DEVICE static inline
#define KERNEL extern "C" void

static thread_local int LANE = 0, WARP = 0, BLOCK = 0;
static double shared_memory[1 << 17];

#if LANES * WARPS > 1
static std::unique_ptr<std::barrier<>> of_block, of_warp[WARPS];
static unsigned char slots[WARPS][LANES][8];
static void sync_warp() { of_warp[WARP]->arrive_and_wait(); }
static void sync_block() { of_block->arrive_and_wait(); }
template <class T> static T from_lane(T value, int lane) {
  std::memcpy(slots[WARP][LANE], &value, sizeof(T));
  sync_warp();
  T found;
  std::memcpy(&found, slots[WARP][lane], sizeof(T));
  sync_warp();
  return found;
}
static unsigned lanes_with(bool yes) {
  unsigned bits = 0;
  for (int lane = 0; lane < LANES; lane++) bits |= (unsigned)from_lane((int)yes, lane) << lane;
  return bits;
}
#else
static void sync_warp() {}
static void sync_block() {}
template <class T> static T from_lane(T value, int) { return value; }
static unsigned lanes_with(bool yes) { return yes; }
#endif
static int n_ones(unsigned bits) { return __builtin_popcount(bits); }
template <class T> static void add_to(T *sum, T value) {
  std::atomic_ref<T>(*sum).fetch_add(value);
}
static int take(int *counter, int n) { return std::atomic_ref<int>(*counter).fetch_add(n); }

struct Job;
typedef void (*Kernel)(const Job *);

extern "C" void launch(Kernel kernel, const Job *job, int blocks) {
#if LANES * WARPS > 1
  of_block = std::make_unique<std::barrier<>>(LANES * WARPS);
  for (auto &one : of_warp) one = std::make_unique<std::barrier<>>(LANES);
  std::vector<std::thread> threads;
  for (int t = 0; t < LANES * WARPS; t++)
    threads.emplace_back([=] {
      LANE = t % LANES;
      WARP = t / LANES;
      for (BLOCK = 0; BLOCK < blocks; BLOCK++) {
        kernel(job);
        sync_block();
      }
    });
  for (auto &thread : threads) thread.join();
#else
  for (BLOCK = 0; BLOCK < blocks; BLOCK++) kernel(job);
#endif
}

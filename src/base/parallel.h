#pragma once
// Two pieces of work at once.

#include <atomic>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace memstrata {

/// Runs both, the second one on a thread of its own; both have ended when it returns. What either throws is thrown
/// here. Where no thread can be made, the second runs after the first. Cost: about 50 µs for the thread.
template <class First, class Second>
void RunBoth(First&& first, Second&& second) {
  std::exception_ptr problem;
  const auto guarded = [&] {
    try {
      second();
    } catch (...) {
      problem = std::current_exception();
    }
  };
  std::thread thread;
  try {
    thread = std::thread(guarded);
  } catch (const std::system_error&) {
    first();
    second();
    return;
  }
  try {
    first();
  } catch (...) {
    thread.join();
    throw;
  }
  thread.join();
  if (problem) std::rethrow_exception(problem);
}

/// Calls `work(i)` for each i below `count`, on this thread and one more; which thread takes which i is left to chance.
/// Calls must not depend on one another.
template <class Work>
void ForEachInParallel(size_t count, Work&& work) {
  std::atomic<size_t> next{0};
  const auto take = [&] {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
  };
  if (count < 2) {
    take();
  } else {
    RunBoth(take, take);
  }
}

}  // namespace memstrata

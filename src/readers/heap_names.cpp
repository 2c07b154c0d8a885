#include "readers/heap_names.h"

#include <fmt/format.h>

#include <map>

namespace memstrata {
namespace {

// "rank0" of "dir/rank0.pickle.gz".
std::string Stem(const std::string& file) {
  const size_t slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  const size_t dot = name.find('.', 1);
  return dot == std::string::npos ? name : name.substr(0, dot);
}

}  // namespace

void NameHeapsApart(Store& store) {
  if (store.sources.size() < 2) return;
  std::vector<std::string> names;
  for (const Source& source : store.sources) names.push_back(Stem(source.file));
  for (const Heap& heap : store.heaps) {
    if (!heap.host.empty()) names[heap.source] = heap.host;
  }
  std::map<std::string, int> uses;
  for (std::string& name : names) {
    const int use = ++uses[name];
    if (use > 1) name += fmt::format("#{}", use);
  }
  for (Heap& heap : store.heaps) heap.id = names[heap.source] + "/" + heap.id;
}

}  // namespace memstrata

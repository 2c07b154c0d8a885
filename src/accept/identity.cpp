#include "accept/identity.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

namespace memstrata::accept {
namespace {

InputFile Hash(const std::string& path) {
  InputFile input{path, {}, ""};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) return input;
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), &XXH3_freeState);
  if (state == nullptr) return input;
  XXH3_128bits_reset(state.get());
  std::array<char, 1 << 16> buffer;
  uint64_t size_bytes = 0;
  for (size_t count = 0; (count = std::fread(buffer.data(), 1, buffer.size(), file.get())) > 0; size_bytes += count)
    XXH3_128bits_update(state.get(), buffer.data(), count);
  if (std::ferror(file.get()) != 0) return input;
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  input.size_bytes = size_bytes;
  input.hash = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  return input;
}

void AddOnce(std::vector<std::string>& list, const std::string& text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
}

}  // namespace

Identity IdentityOf(const Spec& spec) {
  Identity identity;
  identity.command = spec.workload.entry.empty() ? Fill(spec.workload.command, spec.parameters)
                                                 : Command{spec.workload.python, spec.workload.entry};
  utsname names{};
  if (uname(&names) == 0) identity.system = fmt::format("{} {} {}", names.sysname, names.release, names.machine);
  for (const std::string& input : spec.workload.inputs) identity.inputs.push_back(Hash(Fill(input, spec.parameters)));
  return identity;
}

void AddMeasured(const std::vector<RepeatFigures>& repeats, Identity& identity) {
  for (const RepeatFigures& repeat : repeats) {
    for (const std::string& framework : repeat.frameworks) AddOnce(identity.frameworks, framework);
    for (const DeviceFigures& device : repeat.devices) AddOnce(identity.devices, device.id);
  }
}

}  // namespace memstrata::accept

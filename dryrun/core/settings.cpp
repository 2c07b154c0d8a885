#include "core/settings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace memstrata::device {
namespace {

struct IntegerKey {
  const char* name;
  int32_t Settings::*member;
};
struct SizeKey {
  const char* name;
  uint64_t Settings::*member;
};
struct TextKey {
  const char* name;
  std::string Settings::*member;
};

constexpr IntegerKey kIntegerKeys[] = {
    {"device_count", &Settings::device_count},
    {"major", &Settings::major},
    {"minor", &Settings::minor},
    {"multiprocessor_count", &Settings::multiprocessor_count},
    {"threads_per_multiprocessor", &Settings::threads_per_multiprocessor},
    {"kernel_architecture", &Settings::kernel_architecture},
    {"cuda_version", &Settings::cuda_version},
    {"cudnn_version", &Settings::cudnn_version},
    {"nccl_version", &Settings::nccl_version},
};
constexpr SizeKey kSizeKeys[] = {
    {"capacity_bytes", &Settings::capacity_bytes},
    {"context_bytes", &Settings::context_bytes},
    {"shadow_limit_bytes", &Settings::shadow_limit_bytes},
    {"true_after", &Settings::true_after},
    {"convolution_workspace_bytes", &Settings::convolution_workspace_bytes},
};
constexpr TextKey kTextKeys[] = {
    {"card_name", &Settings::card_name},
    {"record_folder", &Settings::record_folder},
};

void Set(Settings& settings, const char* key, const char* value) {
  for (const IntegerKey& entry : kIntegerKeys) {
    if (std::strcmp(entry.name, key) == 0)
      settings.*entry.member = static_cast<int32_t>(std::strtol(value, nullptr, 10));
  }
  for (const SizeKey& entry : kSizeKeys) {
    if (std::strcmp(entry.name, key) == 0) settings.*entry.member = std::strtoull(value, nullptr, 10);
  }
  for (const TextKey& entry : kTextKeys) {
    if (std::strcmp(entry.name, key) == 0) settings.*entry.member = value;
  }
}

Settings ReadSettings() {
  Settings settings;
  const char* path = std::getenv("MEMSTRATA_DRYRUN_SETTINGS");
  if (path == nullptr) return settings;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "re"), &std::fclose);
  if (file == nullptr) return settings;
  char line[4096];
  while (std::fgets(line, sizeof(line), file.get()) != nullptr) {
    line[std::strcspn(line, "\n")] = '\0';
    char* space = std::strchr(line, ' ');
    if (space == nullptr) continue;
    *space = '\0';
    Set(settings, line, space + 1);
  }
  return settings;
}

}  // namespace

const Settings& ProcessSettings() {
  static const Settings* const settings =
      new Settings(ReadSettings());  // never freed: used until the last exit handler
  return *settings;
}

}  // namespace memstrata::device

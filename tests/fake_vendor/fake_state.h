#pragma once
// What the fake libraries of the vendors say, from the text file that FAKE_DEVICES names, looked at at every call and
// read again when it has changed:
//
//   device TOTAL RESERVED USED NAME     one a line, in order; USED without RESERVED
//   process DEVICE PID USED             USED "-": the vendor hides it
//   mig DEVICE TOTAL USED               an instance of a partitioned card
//   broken DEVICE                       it does not answer any more
//   unified DEVICE                      its memory is the host's: it has no figures of its own
//   node DEVICE                         its memory is a NUMA node of the host

#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace fake {

struct Process {
  uint32_t process_id = 0;
  uint64_t used_bytes = UINT64_MAX;
};
struct Device {
  uint64_t total_bytes = 0, reserved_bytes = 0, used_bytes = 0;
  std::string name;
  bool is_broken = false;
  bool is_unified = false;
  bool is_host_node = false;
  std::vector<Process> processes;
  std::vector<Device> instances;
};

inline std::vector<Device> ParseDevices(const char* path) {
  std::vector<Device> devices;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string kind, used;
    size_t index = 0;
    fields >> kind;
    if (kind == "device") {
      Device device;
      fields >> device.total_bytes >> device.reserved_bytes >> device.used_bytes >> device.name;
      devices.push_back(device);
    } else if (kind == "process") {
      Process process;
      fields >> index >> process.process_id >> used;
      if (used != "-") process.used_bytes = std::stoull(used);
      devices.at(index).processes.push_back(process);
    } else if (kind == "mig") {
      Device instance;
      fields >> index >> instance.total_bytes >> instance.used_bytes;
      devices.at(index).instances.push_back(instance);
    } else if (kind == "broken") {
      fields >> index;
      devices.at(index).is_broken = true;
    } else if (kind == "unified") {
      fields >> index;
      devices.at(index).is_unified = true;
    } else if (kind == "node") {
      fields >> index;
      devices.at(index).is_host_node = true;
    }
  }
  return devices;
}

// For one thread at a time, as the libraries that it stands for are asked.
inline const std::vector<Device>& ReadDevices() {
  static std::vector<Device> devices;
  static std::string read_path;
  static struct stat read_as = {};
  const char* path = std::getenv("FAKE_DEVICES");
  if (path == nullptr) path = "";
  struct stat now = {};
  const bool is_same = stat(path, &now) == 0 && read_path == path && now.st_size == read_as.st_size &&
                       now.st_mtim.tv_sec == read_as.st_mtim.tv_sec && now.st_mtim.tv_nsec == read_as.st_mtim.tv_nsec;
  if (!is_same) devices = ParseDevices(path);
  read_path = path;
  read_as = now;
  return devices;
}

}  // namespace fake

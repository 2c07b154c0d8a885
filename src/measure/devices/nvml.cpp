#include "measure/devices/nvml.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "measure/devices/shared_library.h"

namespace memstrata::measure {
namespace {

using Handle = void*;

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kInsufficientSize = 7;
constexpr uint64_t kHiddenBytes = UINT64_MAX;  // NVML_VALUE_NOT_AVAILABLE
constexpr unsigned kMigEnabled = 1;
constexpr unsigned kTextLength = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE and _NAME_V2_
constexpr unsigned kMostProcesses = 65536;

struct Memory {  // nvmlMemory_t
  unsigned long long total_bytes, free_bytes, used_bytes;
};
struct MemoryV2 {  // nvmlMemory_v2_t: `used` leaves the reserved part out
  unsigned version;
  unsigned long long total_bytes, reserved_bytes, free_bytes, used_bytes;
};
constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | 2U << 24;  // NVML_STRUCT_VERSION

struct Process {  // nvmlProcessInfo_v2_t, of the calls _v2 and _v3
  unsigned process_id;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};
struct PciInfo {  // nvmlPciInfo_t
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};

// The functions of the library that are used. Those of the first group must be there.
struct Functions {
  int (*init)();
  int (*shutdown)();
  int (*count)(unsigned*);
  int (*by_index)(unsigned, Handle*);
  int (*memory)(Handle, Memory*);

  const char* (*error_text)(int);
  int (*memory_v2)(Handle, MemoryV2*);
  int (*name)(Handle, char*, unsigned);
  int (*uuid)(Handle, char*, unsigned);
  int (*pci)(Handle, PciInfo*);
  int (*compute_processes)(Handle, unsigned*, Process*);
  int (*graphics_processes)(Handle, unsigned*, Process*);
  int (*mig_mode)(Handle, unsigned*, unsigned*);
  int (*mig_count)(Handle, unsigned*);
  int (*mig_by_index)(Handle, unsigned, Handle*);
  int (*driver_version)(char*, unsigned);
  int (*common_ancestor)(Handle, Handle, int*);
  int (*numa_node)(Handle, unsigned*);

  bool FindAll(const SharedLibrary& library) {
    library.Find("nvmlErrorString", error_text);
    library.Find("nvmlDeviceGetMemoryInfo_v2", memory_v2);
    library.Find("nvmlDeviceGetName", name);
    library.Find("nvmlDeviceGetUUID", uuid);
    library.Find("nvmlDeviceGetPciInfo_v3", pci);
    if (!library.Find("nvmlDeviceGetComputeRunningProcesses_v3", compute_processes))
      library.Find("nvmlDeviceGetComputeRunningProcesses_v2", compute_processes);
    if (!library.Find("nvmlDeviceGetGraphicsRunningProcesses_v3", graphics_processes))
      library.Find("nvmlDeviceGetGraphicsRunningProcesses_v2", graphics_processes);
    library.Find("nvmlDeviceGetMigMode", mig_mode);
    library.Find("nvmlDeviceGetMaxMigDeviceCount", mig_count);
    library.Find("nvmlDeviceGetMigDeviceHandleByIndex", mig_by_index);
    library.Find("nvmlSystemGetDriverVersion", driver_version);
    library.Find("nvmlDeviceGetTopologyCommonAncestor", common_ancestor);
    library.Find("nvmlDeviceGetNumaNodeId", numa_node);
    return library.Find("nvmlInit_v2", init) && library.Find("nvmlShutdown", shutdown) &&
           library.Find("nvmlDeviceGetCount_v2", count) && library.Find("nvmlDeviceGetHandleByIndex_v2", by_index) &&
           library.Find("nvmlDeviceGetMemoryInfo", memory);
  }
};

std::string_view AncestorWords(int level) {
  switch (level) {  // nvmlGpuTopologyLevel_t
    case 0:
      return "on one board";
    case 10:
      return "one PCIe switch";
    case 20:
      return "several PCIe switches";
    case 30:
      return "one PCIe host bridge";
    case 40:
      return "one NUMA node";
    case 50:
      return "between NUMA nodes";
    default:
      return {};
  }
}

class NvmlDevices final : public VendorDevices {
 public:
  NvmlDevices(SharedLibrary library, const Functions& functions)
      : library_(std::move(library)), functions_(functions) {}
  ~NvmlDevices() override { functions_.shutdown(); }

  void AddDevices() {
    unsigned count = 0;
    if (functions_.count(&count) != kSuccess) return;
    for (unsigned index = 0; index < count; ++index) {
      Handle handle = nullptr;
      if (functions_.by_index(index, &handle) == kSuccess && !AddPartitions(handle)) Add(handle, false);
    }
  }

  const std::vector<DeviceFacts>& facts() const override { return facts_; }

  std::optional<DeviceReading> Read(size_t device) override {
    DeviceReading reading;
    if (const std::optional<MemoryV2> memory = MemoryOf(handles_[device])) {
      reading.free_bytes = memory->free_bytes;
      reading.used_bytes = memory->total_bytes - std::min(memory->total_bytes, memory->free_bytes);
    } else {
      return std::nullopt;
    }
    std::set<int32_t> seen;  // a process that computes and draws is on both lists
    for (auto* call : {functions_.compute_processes, functions_.graphics_processes})
      AddProcesses(handles_[device], call, seen, reading.processes);
    return reading;
  }

  std::string LinkBetween(size_t first, size_t second) override {
    int level = -1;
    if (functions_.common_ancestor == nullptr ||
        functions_.common_ancestor(handles_[first], handles_[second], &level) != kSuccess)
      return {};
    return std::string(AncestorWords(level));
  }

 private:
  std::string DriverVersion() const {
    char text[kTextLength] = {};
    if (functions_.driver_version == nullptr || functions_.driver_version(text, kTextLength - 1) != kSuccess) return {};
    return text;
  }

  // The instances of a partitioned card; false when it is whole.
  bool AddPartitions(Handle card) {
    unsigned current = 0, pending = 0, count = 0;
    if (functions_.mig_mode == nullptr || functions_.mig_count == nullptr || functions_.mig_by_index == nullptr ||
        functions_.mig_mode(card, &current, &pending) != kSuccess || current != kMigEnabled ||
        functions_.mig_count(card, &count) != kSuccess)
      return false;
    const size_t before = handles_.size();
    for (unsigned index = 0; index < count; ++index) {
      Handle instance = nullptr;
      if (functions_.mig_by_index(card, index, &instance) == kSuccess) Add(instance, true);
    }
    return handles_.size() > before;
  }

  void Add(Handle handle, bool is_partition) {
    DeviceFacts facts;
    facts.vendor = "nvidia";
    facts.is_partition = is_partition;
    facts.driver_version = DriverVersion();
    char text[kTextLength] = {};
    if (functions_.name != nullptr && functions_.name(handle, text, kTextLength - 1) == kSuccess) facts.name = text;
    if (functions_.uuid != nullptr && functions_.uuid(handle, text, kTextLength - 1) == kSuccess) facts.uuid = text;
    PciInfo pci{};
    if (functions_.pci != nullptr && functions_.pci(handle, &pci) == kSuccess) {
      pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
      facts.pci_bus_id = pci.bus_id;
    }
    unsigned node = 0;  // only where the card's memory is one, as on Grace Hopper
    facts.is_host_node = functions_.numa_node != nullptr && functions_.numa_node(handle, &node) == kSuccess;
    // A card whose memory is the host's has no figures of its own: the call is not supported there. Any other failure
    // says nothing of that.
    Memory asked{};
    facts.is_unified = functions_.memory(handle, &asked) == kNotSupported;
    if (const std::optional<MemoryV2> memory = MemoryOf(handle)) {
      facts.total_bytes = memory->total_bytes;
      if (memory->version != 0) facts.reserved_bytes = memory->reserved_bytes;
    }
    facts_.push_back(std::move(facts));
    handles_.push_back(handle);
  }

  // `version` is 0 where the library is too old to tell the reserved part.
  std::optional<MemoryV2> MemoryOf(Handle handle) const {
    MemoryV2 memory{};
    memory.version = kMemoryV2;
    if (functions_.memory_v2 != nullptr && functions_.memory_v2(handle, &memory) == kSuccess) return memory;
    Memory first{};
    if (functions_.memory(handle, &first) != kSuccess) return std::nullopt;
    return MemoryV2{0, first.total_bytes, 0, first.free_bytes, first.used_bytes};
  }

  void AddProcesses(Handle handle, int (*call)(Handle, unsigned*, Process*), std::set<int32_t>& seen,
                    std::optional<std::vector<ProcessUse>>& into) {
    if (call == nullptr) return;
    unsigned count = static_cast<unsigned>(buffer_.size());
    int status = call(handle, &count, buffer_.data());
    if (status == kInsufficientSize && count <= kMostProcesses) {
      buffer_.resize(count + 8);  // others may start meanwhile
      count = static_cast<unsigned>(buffer_.size());
      status = call(handle, &count, buffer_.data());
    }
    if (status != kSuccess) return;
    if (!into) into.emplace();
    for (unsigned i = 0; i < std::min<size_t>(count, buffer_.size()); ++i) {
      const auto process_id = static_cast<int32_t>(buffer_[i].process_id);
      if (!seen.insert(process_id).second) continue;
      const bool is_hidden = buffer_[i].used_bytes == kHiddenBytes;
      into->push_back({process_id, is_hidden ? std::nullopt : std::optional<uint64_t>(buffer_[i].used_bytes)});
    }
  }

  SharedLibrary library_;
  Functions functions_;
  std::vector<Handle> handles_;
  std::vector<DeviceFacts> facts_;
  std::vector<Process> buffer_ = std::vector<Process>(64);
};

}  // namespace

Result<std::unique_ptr<VendorDevices>> OpenNvml(const std::string& name) {
  SharedLibrary library(name);
  if (!library.is_open())
    return Fail(ErrorCode::kNotFound,
                fmt::format("{} is not here: no NVIDIA driver, or a container without it.", name));
  Functions functions{};
  if (!functions.FindAll(library))
    return Fail(ErrorCode::kIo, fmt::format("{} lacks functions that are needed: it is too old.", name));
  if (const int status = functions.init(); status != kSuccess) {
    const char* text = functions.error_text != nullptr ? functions.error_text(status) : nullptr;
    return Fail(ErrorCode::kIo, fmt::format("{} cannot be used: {}.", name, text != nullptr ? text : "error"));
  }
  auto devices = std::make_unique<NvmlDevices>(std::move(library), functions);
  devices->AddDevices();
  return devices;
}

}  // namespace memstrata::measure

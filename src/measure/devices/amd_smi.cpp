#include "measure/devices/amd_smi.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "base/tab_lines.h"
#include "measure/devices/shared_library.h"
#include "measure/process_tree.h"

namespace memstrata::measure {
namespace {

namespace fs = std::filesystem;
using Handle = void*;

constexpr int kSuccess = 0;
constexpr uint64_t kInitGpus = 2;  // AMDSMI_INIT_AMD_GPUS
constexpr int kVideoMemory = 0;    // AMDSMI_MEM_TYPE_VRAM
constexpr unsigned kTextLength = 64;
constexpr uint32_t kMostSockets = 256;
constexpr const char* kKfdProcesses = "/sys/class/kfd/kfd/proc";
constexpr const char* kKfdNodes = "/sys/class/kfd/kfd/topology/nodes";

struct Functions {
  int (*init)(uint64_t);
  int (*shut_down)();
  int (*sockets)(uint32_t*, Handle*);
  int (*processors)(Handle, uint32_t*, Handle*);
  int (*total)(Handle, int, uint64_t*);
  int (*used)(Handle, int, uint64_t*);
  int (*uuid)(Handle, unsigned*, char*);
  int (*bus_id)(Handle, uint64_t*);

  bool FindAll(const SharedLibrary& library) {
    library.Find("amdsmi_get_gpu_device_uuid", uuid);
    library.Find("amdsmi_get_gpu_bdf_id", bus_id);
    return library.Find("amdsmi_init", init) && library.Find("amdsmi_shut_down", shut_down) &&
           library.Find("amdsmi_get_socket_handles", sockets) &&
           library.Find("amdsmi_get_processor_handles", processors) &&
           library.Find("amdsmi_get_gpu_memory_total", total) && library.Find("amdsmi_get_gpu_memory_usage", used);
  }
};

// Handles that a call gives: first their count, then themselves.
template <class Call>
std::vector<Handle> HandlesOf(const Call& call) {
  uint32_t count = 0;
  if (call(&count, nullptr) != kSuccess || count == 0 || count > kMostSockets) return {};
  std::vector<Handle> handles(count);
  if (call(&count, handles.data()) != kSuccess) return {};
  handles.resize(std::min<size_t>(count, handles.size()));
  return handles;
}

// The properties of a node of the kernel driver, "name value" a line.
std::map<std::string, uint64_t> NodeProperties(const std::string& text) {
  std::map<std::string, uint64_t> properties;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const size_t blank = text.find(' ', begin);
    if (blank < end) {
      if (const std::optional<uint64_t> value =
              ParseUnsigned(std::string_view(text).substr(blank + 1, end - blank - 1)))
        properties.emplace(text.substr(begin, blank - begin), *value);
    }
    begin = end + 1;
  }
  return properties;
}

// A card as the kernel driver has it.
struct KfdNode {
  uint64_t card_number = 0;  // that names its files of users
  uint64_t node = 0;         // that its links name
  std::string properties;
};

std::string FirstLine(const std::string& path) {
  const std::string text = ReadKernelFile(path);
  return text.substr(0, text.find('\n'));
}

// 90402 is gfx942 and 90010 gfx90a: major in decimal, minor and stepping one hexadecimal digit each.
std::string ArchitectureName(uint64_t version) {
  return version == 0 ? "" : fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

uint64_t Property(const std::map<std::string, uint64_t>& properties, const char* name) {
  const auto found = properties.find(name);
  return found == properties.end() ? 0 : found->second;
}

// The card at a place on the bus; the driver's nodes name that place as bus << 8 | device << 3 | function, beside the
// domain.
std::optional<KfdNode> FindKfdNode(uint64_t domain, uint64_t location) {
  std::error_code problem;
  for (fs::directory_iterator at(kKfdNodes, problem); !problem && at != fs::directory_iterator();
       at.increment(problem)) {
    std::string properties = ReadKernelFile((at->path() / "properties").string());
    const std::map<std::string, uint64_t> node = NodeProperties(properties);
    const auto found = node.find("location_id");
    const auto found_domain = node.find("domain");
    if (found == node.end() || found->second != location) continue;
    if (found_domain != node.end() && found_domain->second != domain) continue;
    const std::optional<uint64_t> card = ParseUnsigned(FirstLine((at->path() / "gpu_id").string()));
    const std::optional<uint64_t> index = ParseUnsigned(at->path().filename().string());
    if (card && index) return KfdNode{*card, *index, std::move(properties)};
  }
  return std::nullopt;
}

class AmdDevices final : public VendorDevices {
 public:
  AmdDevices(SharedLibrary library, const Functions& functions) : library_(std::move(library)), functions_(functions) {}
  ~AmdDevices() override { functions_.shut_down(); }

  void AddDevices() {
    const std::vector<Handle> sockets =
        HandlesOf([this](uint32_t* count, Handle* handles) { return functions_.sockets(count, handles); });
    for (const Handle socket : sockets) {
      for (const Handle card : HandlesOf([this, socket](uint32_t* count, Handle* handles) {
             return functions_.processors(socket, count, handles);
           }))
        Add(card);
    }
  }

  const std::vector<DeviceFacts>& facts() const override { return facts_; }

  std::optional<DeviceReading> Read(size_t device) override {
    uint64_t used_bytes = 0;
    if (functions_.used(handles_[device], kVideoMemory, &used_bytes) != kSuccess) return std::nullopt;
    DeviceReading reading;
    const uint64_t total_bytes = facts_[device].total_bytes.value_or(used_bytes);
    reading.used_bytes = used_bytes;
    reading.free_bytes = total_bytes - std::min(total_bytes, used_bytes);
    if (nodes_[device]) reading.processes = ReadKfdProcesses(kKfdProcesses, nodes_[device]->card_number);
    return reading;
  }

  std::string LinkBetween(size_t first, size_t second) override {
    if (!nodes_[first] || !nodes_[second]) return {};
    return ReadKfdLink(kKfdNodes, nodes_[first]->node, nodes_[second]->node);
  }

 private:
  void Add(Handle card) {
    DeviceFacts facts;
    facts.vendor = "amd";
    uint64_t total_bytes = 0;
    if (functions_.total(card, kVideoMemory, &total_bytes) == kSuccess) facts.total_bytes = total_bytes;
    char text[kTextLength] = {};
    unsigned length = kTextLength - 1;
    if (functions_.uuid != nullptr && functions_.uuid(card, &length, text) == kSuccess) facts.uuid = text;
    // Domain in the upper half; then bus, device and function as 8, 5 and 3 bits.
    uint64_t place = 0;
    std::optional<KfdNode> node;
    if (functions_.bus_id != nullptr && functions_.bus_id(card, &place) == kSuccess) {
      const uint64_t location = place & 0xffff;
      facts.pci_bus_id =
          fmt::format("{:04x}:{:02x}:{:02x}.{}", place >> 32, location >> 8, location >> 3 & 31, location & 7);
      node = FindKfdNode(place >> 32, location);
    }
    AddKernelFacts("/sys", node ? node->properties : "", facts);
    facts_.push_back(std::move(facts));
    handles_.push_back(card);
    nodes_.push_back(node);
  }

  SharedLibrary library_;
  Functions functions_;
  std::vector<Handle> handles_;
  std::vector<DeviceFacts> facts_;
  std::vector<std::optional<KfdNode>> nodes_;
};

}  // namespace

void AddKernelFacts(const std::string& system_root, const std::string& text, DeviceFacts& facts) {
  const std::map<std::string, uint64_t> properties = NodeProperties(text);
  facts.name = FirstLine(fmt::format("{}/bus/pci/devices/{}/product_name", system_root, facts.pci_bus_id));
  if (facts.name.empty()) facts.name = ArchitectureName(Property(properties, "gfx_target_version"));
  // Only a driver that was installed beside the kernel's own has a version.
  facts.driver_version = FirstLine(system_root + "/module/amdgpu/version");
  if (facts.driver_version.empty()) {
    const std::string release = FirstLine("/proc/sys/kernel/osrelease");
    if (!release.empty()) facts.driver_version = fmt::format("of the kernel, {}", release);
  }
  facts.is_unified = Property(properties, "cpu_cores_count") > 0 && Property(properties, "simd_count") > 0;
}

std::string ReadKfdLink(const std::string& folder, uint64_t from, uint64_t to) {
  std::error_code problem;
  const fs::path links = fs::path(folder) / std::to_string(from) / "io_links";
  for (fs::directory_iterator at(links, problem); !problem && at != fs::directory_iterator(); at.increment(problem)) {
    const std::map<std::string, uint64_t> link = NodeProperties(ReadKernelFile((at->path() / "properties").string()));
    const auto target = link.find("node_to");
    const auto type = link.find("type");
    if (target == link.end() || type == link.end() || target->second != to) continue;
    switch (type->second) {  // the driver's kfd_crat.h
      case 2:
        return "PCIe";
      case 11:
        return "XGMI";
      default:
        return fmt::format("a link of type {}", type->second);
    }
  }
  return {};
}

std::optional<std::vector<ProcessUse>> ReadKfdProcesses(const std::string& folder, uint64_t gpu_id) {
  std::error_code problem;
  fs::directory_iterator at(folder, problem);
  if (problem) return std::nullopt;
  std::vector<ProcessUse> users;
  for (; !problem && at != fs::directory_iterator(); at.increment(problem)) {
    const std::optional<uint64_t> process_id = ParseUnsigned(at->path().filename().string());
    if (!process_id) continue;
    const std::string text = ReadKernelFile((at->path() / fmt::format("vram_{}", gpu_id)).string());
    const std::optional<uint64_t> used_bytes = ParseUnsigned(std::string_view(text).substr(0, text.find('\n')));
    if (used_bytes && *used_bytes > 0) users.push_back({static_cast<int32_t>(*process_id), used_bytes});
  }
  std::sort(users.begin(), users.end(),
            [](const ProcessUse& a, const ProcessUse& b) { return a.process_id < b.process_id; });
  return users;
}

Result<std::unique_ptr<VendorDevices>> OpenAmdSmi(const std::string& name) {
  SharedLibrary library(name);
  if (!library.is_open())
    return Fail(ErrorCode::kNotFound, fmt::format("{} is not here: no AMD driver, or a container without it.", name));
  Functions functions{};
  if (!functions.FindAll(library))
    return Fail(ErrorCode::kIo, fmt::format("{} lacks functions that are needed: it is too old.", name));
  if (const int status = functions.init(kInitGpus); status != kSuccess)
    return Fail(ErrorCode::kIo, fmt::format("{} cannot be used: status {}.", name, status));
  auto devices = std::make_unique<AmdDevices>(std::move(library), functions);
  devices->AddDevices();
  return devices;
}

}  // namespace memstrata::measure

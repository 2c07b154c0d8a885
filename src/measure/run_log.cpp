#include "measure/run_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/tab_lines.h"

namespace memstrata::measure {
namespace {

std::string Text(const std::optional<uint64_t>& value) { return value ? std::to_string(*value) : "-"; }

}  // namespace

Result<std::unique_ptr<RunLog>> RunLog::Create(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) {
    return tl::unexpected(
        Error{ErrorCode::kIo, fmt::format("It cannot be written: {}.", std::strerror(errno)), path, {}});
  }
  std::unique_ptr<RunLog> log(new RunLog(file));
  log->Write(fmt::format("memstrata_run\t{}", kRunLogVersion));
  return log;
}

RunLog::~RunLog() { close(file_); }

void RunLog::Write(std::string line) {
  line += '\n';
  const std::lock_guard lock(mutex_);
  if (is_full_) return;
  const ssize_t count = write(file_, line.data(), line.size());
  if (count == static_cast<ssize_t>(line.size())) {
    size_bytes_ += line.size();
    return;
  }
  is_full_ = true;
  // A part of the line was written: what follows must not be glued to it. Without space this fails as well.
  if (count > 0 && ftruncate(file_, lseek(file_, 0, SEEK_END) - count) != 0) return;
}

void RunLog::Rate(double rate_hz) { Write(fmt::format("rate\t{}", static_cast<uint64_t>(rate_hz * 1000))); }

void RunLog::Machine(std::optional<uint64_t> total_bytes, std::optional<uint64_t> group_limit_bytes) {
  Write(fmt::format("machine\t{}\t{}", Text(total_bytes), Text(group_limit_bytes)));
}

void RunLog::Device(const DeviceFacts& facts) {
  Write(fmt::format("device\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", TabField(facts.vendor), TabField(facts.name),
                    TabField(facts.uuid), TabField(facts.pci_bus_id), TabField(facts.driver_version),
                    Text(facts.total_bytes), Text(facts.reserved_bytes), facts.is_partition ? 1 : 0,
                    facts.is_unified ? 1 : 0, facts.is_host_node ? 1 : 0));
}

void RunLog::Command(const std::vector<std::string>& command, bool is_beside) {
  std::string line = is_beside ? "beside" : "command";
  for (const std::string& argument : command) line += "\t" + TabField(argument);
  Write(line);
}

void RunLog::Sample(const DeviceSample& sample) {
  std::string line = fmt::format("used\t{}\t{}\t{}\t{}\t{}", sample.time_ns, sample.device, sample.used_bytes,
                                 sample.free_bytes, sample.processes ? 1 : 0);
  if (sample.processes) {
    for (const ProcessUse& use : *sample.processes)
      line += fmt::format("\t{}\t{}", use.process_id, Text(use.used_bytes));
  }
  Write(line);
}

void RunLog::Sample(const HostSample& sample) {
  Write(fmt::format("host\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", sample.time_ns,
                    sample.process_count, sample.resident_bytes, sample.highest_resident_bytes, sample.swapped_bytes,
                    sample.locked_bytes, sample.pinned_bytes, Text(sample.available_bytes), Text(sample.group_bytes),
                    Text(sample.proportional_bytes), Text(sample.held_bytes), Text(sample.machine_held_bytes),
                    Text(sample.kernel_bytes), Text(sample.machine_shared_bytes), sample.mapped_shared_bytes));
}

void RunLog::Variable(const std::string& name, const std::string& value) {
  Write(fmt::format("variable\t{}\t{}", TabField(name), TabField(value)));
}

void RunLog::Signal(int32_t signal) { Write(fmt::format("signal\t{}", signal)); }

void RunLog::MarkReset(int32_t process_id) { Write(fmt::format("mark_reset\t{}", process_id)); }

void RunLog::Member(int32_t process_id) { Write(fmt::format("member\t{}", process_id)); }

void RunLog::Missing(const Gap& gap) {
  Write(fmt::format("missing\t{}\t{}\t{}", TabField(gap.what), TabField(gap.why), TabField(gap.how_to_get)));
}

void RunLog::CommandEnd(uint32_t command, const CommandRun& end) {
  Write(fmt::format("command_end\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", command, end.exit_status,
                    end.timed_out ? 1 : 0, end.wall_ns, Text(end.highest_resident_bytes), end.had_children ? 1 : 0,
                    end.was_stopped ? 1 : 0, Text(end.cpu_ns), Text(end.read_bytes), Text(end.written_bytes)));
}

void RunLog::End(uint64_t missed_samples, int64_t clock_drift_ns, uint64_t sampler_cpu_ns) {
  Write(fmt::format("end\t{}\t{}\t{}", missed_samples, clock_drift_ns, sampler_cpu_ns));
}

}  // namespace memstrata::measure

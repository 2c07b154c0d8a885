#include "oom/families/torch_judgement.h"

namespace memstrata::oom {
namespace {

// Above this share of the device, live memory is the answer whatever lies idle beside it.
constexpr double kFullShare = 0.9;

// Sums of figures with two decimals may miss by this much.
uint64_t SumTolerance(const Facts& facts) {
  uint64_t tolerance_bytes = 0;
  for (const Fact fact : {Fact::kRequested, Fact::kFree, Fact::kCapacity, Fact::kLive, Fact::kIdle, Fact::kReserved,
                          Fact::kOwnProcess, Fact::kCap})
    tolerance_bytes += facts.Tolerance(fact);
  return tolerance_bytes;
}

class TorchJudgement {
 public:
  TorchJudgement(const Facts& facts, OomReport& report)
      : facts_(facts), report_(report), tolerance_bytes_(SumTolerance(facts)) {}

  void Judge() {
    TakeFigures();
    if (const std::string problem = Contradiction(); !problem.empty()) return Refuse(report_, problem);
    report_.short_by_bytes = ShortBy();
    Decide();
    AddRemedies();
  }

 private:
  void TakeFigures() {
    report_.requested_bytes = facts_.Bytes(Fact::kRequested);
    report_.free_bytes = facts_.Bytes(Fact::kFree);
    report_.capacity_bytes = facts_.Bytes(Fact::kCapacity);
    report_.cap_bytes = facts_.Bytes(Fact::kCap);
    report_.private_pool_bytes = facts_.Bytes(Fact::kPrivatePool);
    allocated_bytes_ = facts_.BytesOr0(Fact::kLive);
    report_.idle_bytes = facts_.Bytes(Fact::kIdle);
    if (!report_.idle_bytes && facts_.Bytes(Fact::kReserved) && facts_.Bytes(Fact::kLive))
      report_.idle_bytes = MinusOr0(*facts_.Bytes(Fact::kReserved), allocated_bytes_);
    // What the message counts as allocated holds the idle blocks of private pools too.
    if (facts_.Bytes(Fact::kLive))
      report_.live_bytes = MinusOr0(allocated_bytes_, report_.private_pool_bytes.value_or(0));
    TakeProcesses();
  }

  // Which process is which. In a container the own one may be listed as a foreign one: it is then the smallest that can
  // hold what PyTorch says it holds.
  void TakeProcesses() {
    own_bytes_ = facts_.Bytes(Fact::kOwnProcess);
    std::vector<uint64_t> others;
    for (const Value& value : facts_.neighbours()) others.push_back(value.IsImpossible() ? 0 : value.bytes);
    std::sort(others.begin(), others.end());
    const uint64_t reserved_bytes = allocated_bytes_ + report_.idle_bytes.value_or(0);
    if (!own_bytes_ && !others.empty()) {
      const auto own = std::lower_bound(others.begin(), others.end(), MinusOr0(reserved_bytes, tolerance_bytes_));
      if (own != others.end() && reserved_bytes > 0) {
        own_bytes_ = *own;
        others.erase(own);
        own_is_assumed_ = true;
      }
    }
    if (!facts_.neighbours().empty()) {
      uint64_t sum_bytes = 0;
      for (const uint64_t other_bytes : others) sum_bytes += other_bytes;
      report_.neighbour_bytes = sum_bytes;
    }
    if (own_bytes_) {
      report_.outside_bytes = MinusOr0(*own_bytes_, reserved_bytes);
    } else if (report_.capacity_bytes && report_.free_bytes && report_.live_bytes && report_.idle_bytes) {
      report_.outside_bytes =
          MinusOr0(*report_.capacity_bytes, *report_.free_bytes + reserved_bytes + report_.neighbour_bytes.value_or(0));
    }
  }

  std::string Contradiction() const {
    if (report_.requested_bytes == uint64_t{0} || report_.capacity_bytes == uint64_t{0})
      return "a request or a device of 0 B is none (a missing counter).";
    if (facts_.HasImpossible()) return "one of them is larger than any device (a missing or overflowed counter).";
    const uint64_t reserved_bytes = allocated_bytes_ + report_.idle_bytes.value_or(0);
    const auto exceeds = [&](std::optional<uint64_t> a, std::optional<uint64_t> b) {
      return a && b && *a > *b + tolerance_bytes_;
    };
    if (exceeds(report_.free_bytes, report_.capacity_bytes)) {
      return fmt::format("{} free is more than the device's {}.", Show(report_.free_bytes),
                         Show(report_.capacity_bytes));
    }
    if (exceeds(reserved_bytes, report_.capacity_bytes)) {
      return fmt::format("PyTorch holds {}, which is more than the device's {}.", FormatBytes(reserved_bytes),
                         Show(report_.capacity_bytes));
    }
    if (facts_.Has(Fact::kReserved) && exceeds(facts_.Bytes(Fact::kLive), facts_.Bytes(Fact::kReserved))) {
      return fmt::format("{} is allocated of only {} reserved.", Show(facts_.Bytes(Fact::kLive)),
                         Show(facts_.Bytes(Fact::kReserved)));
    }
    if (exceeds(own_bytes_, report_.capacity_bytes)) {
      return fmt::format("this process holds {}, which is more than the device's {} (a slice of a larger card?).",
                         Show(own_bytes_), Show(report_.capacity_bytes));
    }
    if (exceeds(reserved_bytes, facts_.Bytes(Fact::kOwnProcess))) {
      return fmt::format("PyTorch holds {}, but its process only {}.", FormatBytes(reserved_bytes), Show(own_bytes_));
    }
    if (!report_.cap_bytes && exceeds(report_.free_bytes, report_.requested_bytes)) {
      return fmt::format("{} was free, and {} was asked for: that would have been enough.", Show(report_.free_bytes),
                         Show(report_.requested_bytes));
    }
    return "";
  }

  bool HitCap() const {
    if (!report_.cap_bytes || !report_.requested_bytes) return false;
    const bool is_over =
        allocated_bytes_ + report_.idle_bytes.value_or(0) + *report_.requested_bytes + tolerance_bytes_ >
        *report_.cap_bytes;
    return is_over && report_.free_bytes.value_or(0) + tolerance_bytes_ >= *report_.requested_bytes;
  }

  std::optional<uint64_t> ShortBy() const {
    if (!report_.requested_bytes) return std::nullopt;
    if (HitCap()) {
      return MinusOr0(allocated_bytes_ + report_.idle_bytes.value_or(0) + *report_.requested_bytes, *report_.cap_bytes);
    }
    // What the driver calls free it cannot always give: then the message does not say how much was missing.
    if (!report_.free_bytes || *report_.free_bytes >= *report_.requested_bytes) return std::nullopt;
    return *report_.requested_bytes - *report_.free_bytes;
  }

  void Decide() {
    const std::string first = fmt::format("PyTorch asked for {}", Show(report_.requested_bytes));
    if (!report_.live_bytes) {
      MarkMasked(report_, fmt::format("{} and did not get it; the rest of the message is missing.", first),
                 "Paste the whole message, to the sentence about fragmentation.");
      return;
    }
    if (report_.capacity_bytes && *report_.requested_bytes > *report_.capacity_bytes) {
      report_.verdict = OomVerdict::kTooLarge;
      report_.text = fmt::format("{} at once, more than the device's {}: no setting makes it fit.", first,
                                 Show(report_.capacity_bytes));
      return;
    }
    if (HitCap()) {
      report_.verdict = OomVerdict::kCap;
      report_.text =
          fmt::format("{}, which is {} more than the {} that the process allows itself; the device had {} free.", first,
                      Show(report_.short_by_bytes), Show(report_.cap_bytes), Show(report_.free_bytes));
      return;
    }
    if (report_.short_by_bytes) {
      report_.text = fmt::format("{} and the device had {} free: short by {}. ", first, Show(report_.free_bytes),
                                 Show(report_.short_by_bytes));
    } else if (report_.free_bytes) {
      report_.text = fmt::format(
          "{} and did not get it, though the driver counted {} as free: next to nothing is left, and how much was "
          "missing the message does not say. ",
          first, Show(report_.free_bytes));
    } else {
      report_.text = fmt::format("{} and did not get it. ", first);
    }
    DecideAmongHolders();
    if (own_is_assumed_) report_.text += " The message does not say which process is its own; taken by size.";
  }

  void DecideAmongHolders() {
    const uint64_t others_bytes = report_.outside_bytes.value_or(0) + report_.neighbour_bytes.value_or(0);
    const uint64_t idle_bytes = report_.idle_bytes.value_or(0);
    const uint64_t capacity_bytes = report_.capacity_bytes.value_or(0);
    const double live_share = Share(*report_.live_bytes, capacity_bytes);
    if (others_bytes > *report_.live_bytes && others_bytes >= report_.short_by_bytes.value_or(0)) {
      report_.verdict = OomVerdict::kOutside;
      report_.text += fmt::format(
          "{} of the device is not PyTorch's: {} of other processes and {} of this one outside the allocator.",
          FormatBytes(others_bytes), Show(report_.neighbour_bytes.value_or(0)), Show(report_.outside_bytes));
    } else if (idle_bytes >= *report_.requested_bytes && live_share < kFullShare) {
      report_.verdict = OomVerdict::kFragmented;
      report_.text += fmt::format(
          "{} is reserved and idle, more than was asked for: fragmentation is a candidate. Only a snapshot proves it, "
          "because idle memory helps where it lies in one piece.",
          FormatBytes(idle_bytes));
      AddOutside();
    } else if (report_.free_bytes.value_or(0) + idle_bytes >= *report_.requested_bytes + tolerance_bytes_ &&
               live_share < kFullShare) {
      // PyTorch gives whole idle segments back before it fails: what was idle then could not be given back.
      report_.verdict = OomVerdict::kFragmented;
      report_.text += fmt::format(
          "With {} reserved and idle that would have been enough, in one piece: fragmentation is a candidate. Only a "
          "snapshot proves it.",
          FormatBytes(idle_bytes));
      AddOutside();
    } else {
      report_.verdict = OomVerdict::kFull;
      report_.text += HowFull(live_share, capacity_bytes);
    }
    if (report_.private_pool_bytes && *report_.private_pool_bytes > 0) {
      report_.text += fmt::format(" {} in private pools (CUDA graphs) cannot serve ordinary requests.",
                                  Show(report_.private_pool_bytes));
    }
  }

  void AddOutside() {
    if (report_.outside_bytes.value_or(0) > 0)
      report_.text += fmt::format(" {} of this process lies outside PyTorch.", Show(report_.outside_bytes));
  }

  // Live memory, and what is known of the rest.
  std::string HowFull(double live_share, uint64_t capacity_bytes) const {
    const std::string live = FormatBytes(*report_.live_bytes);
    std::string text;
    if (capacity_bytes == 0) {
      text = fmt::format("Live memory is {}", live);
    } else if (live_share >= kFullShare) {
      text = fmt::format("Live memory fills the device: {}, {} of it", live, FormatPercent(live_share));
    } else if (*report_.live_bytes + *report_.requested_bytes > capacity_bytes) {
      text = fmt::format("Live memory, {}, and the request are more than the device's {}", live,
                         FormatBytes(capacity_bytes));
    } else {
      text = fmt::format("Live memory is {}, {} of the device", live, FormatPercent(live_share));
    }
    const bool knows_outside = report_.outside_bytes || report_.neighbour_bytes;
    const std::string outside = FormatBytes(report_.outside_bytes.value_or(0) + report_.neighbour_bytes.value_or(0));
    if (report_.idle_bytes) text += fmt::format("; {} is idle", FormatBytes(*report_.idle_bytes));
    if (knows_outside) text += fmt::format("{} {} outside PyTorch", report_.idle_bytes ? " and" : ";", outside);
    return text + ".";
  }

  void AddRemedies() {
    const std::optional<uint64_t>& short_bytes = report_.short_by_bytes;
    if (!report_.requested_bytes || report_.verdict == OomVerdict::kTooLarge) return;
    const uint64_t needed_bytes = short_bytes.value_or(*report_.requested_bytes);
    if (report_.verdict == OomVerdict::kCap) {
      report_.remedies.push_back({fmt::format("Raise the process's own limit by {}.", FormatBytes(*short_bytes)),
                                  *short_bytes, RemedyBasis::kComputed, true});
    }
    if (short_bytes) {
      report_.remedies.push_back(
          {fmt::format("Hold {} less when it happens (smaller batch or sequence, recomputation); "
                       "the freed memory must be whole segments.",
                       FormatBytes(*short_bytes)),
           *short_bytes, RemedyBasis::kComputed, std::nullopt});
    }
    if (report_.neighbour_bytes.value_or(0) > 0 && report_.verdict != OomVerdict::kCap) {
      report_.remedies.push_back({fmt::format("Stop the other processes: {}.", Show(report_.neighbour_bytes)),
                                  report_.neighbour_bytes, RemedyBasis::kMeasured,
                                  *report_.neighbour_bytes >= needed_bytes});
    }
    if (report_.idle_bytes) {
      const bool could_help = *report_.idle_bytes >= needed_bytes;
      report_.remedies.push_back(
          {could_help ? fmt::format("Use the {} of idle memory (expandable segments); a snapshot tells whether it can.",
                                    Show(report_.idle_bytes))
                      : fmt::format("Allocator settings cannot help: only {} is idle.", Show(report_.idle_bytes)),
           report_.idle_bytes, could_help ? RemedyBasis::kAssumed : RemedyBasis::kComputed,
           could_help ? std::nullopt : std::optional<bool>(false)});
    }
  }

  const Facts& facts_;
  OomReport& report_;
  uint64_t tolerance_bytes_;
  uint64_t allocated_bytes_ = 0;  // as printed
  std::optional<uint64_t> own_bytes_;
  bool own_is_assumed_ = false;
};

}  // namespace

void JudgeTorch(const Facts& facts, OomReport& report) { TorchJudgement(facts, report).Judge(); }

}  // namespace memstrata::oom

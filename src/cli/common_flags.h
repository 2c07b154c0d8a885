#pragma once
// Flags that several verbs share, and what they all do with files.

#include "cli/subcommand.h"
#include "readers/reader.h"

namespace memstrata::cli {

inline constexpr FlagSpec kJsonFlag = {"--json", "", "", "Print one JSON object instead of text"};
inline constexpr FlagSpec kHeapFlag = {"--heap", "", "ID", "Only this heap, for example cuda:0"};
inline constexpr FlagSpec kFormatFlag = {"--format", "", "NAME",
                                         "Read the files as this format instead of recognising it"};
inline constexpr FlagSpec kQuietFlag = {"--quiet", "-q", "", "No progress on standard error"};
inline constexpr PositionalSpec kFilesPositional = {"FILE", "Capture to read; \"-\" is standard input", 1, kUnlimited};

/// "a.pickle: 43 %", or the bytes so far where the end is not known.
std::string ProgressText(const ReadProgress& progress);
/// Opens the files named on the command line, with progress. A truncated file is reported on stderr and still opened.
Result<Store> OpenFiles(const Arguments& arguments, Console& console);

}  // namespace memstrata::cli

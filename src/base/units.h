#pragma once
// How numbers are shown to people. Bytes are binary (KiB, MiB, GiB) everywhere on the screen; files and JSON carry
// exact integers instead and never come through here.

#include <cstdint>
#include <string>
#include <string_view>

namespace memstrata {

/// "6.53 GiB", "512 B", "-3.00 MiB": three significant digits, binary units.
std::string FormatBytes(int64_t size_bytes);
std::string FormatBytes(uint64_t size_bytes);

/// "7,013,335,044": thousands separated by commas.
std::string FormatCount(uint64_t count);

/// "1 block", "1,745 blocks".
std::string FormatCount(uint64_t count, std::string_view singular);

/// "83.4 %".
std::string FormatPercent(double fraction);

/// "850 ns", "1.25 ms", "3.4 s", "2 min 5 s".
std::string FormatDuration(int64_t duration_ns);

/// "0x7f3a00000000".
std::string FormatAddress(uint64_t address);

}  // namespace memstrata

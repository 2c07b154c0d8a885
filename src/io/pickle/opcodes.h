#pragma once
// The opcodes of pickle protocols 0 to 5 (CPython's Lib/pickletools.py is their documentation).

#include <cstdint>
#include <string_view>

namespace memstrata::pickle {

enum Opcode : uint8_t {
  kMark = '(', kStop = '.', kPop = '0', kPopMark = '1', kDup = '2',
  kFloat = 'F', kInt = 'I', kBinInt = 'J', kBinInt1 = 'K', kLong = 'L', kBinInt2 = 'M', kNoneValue = 'N',
  kPersId = 'P', kBinPersId = 'Q', kReduce = 'R', kString = 'S', kBinString = 'T', kShortBinString = 'U',
  kUnicode = 'V', kBinUnicode = 'X', kAppend = 'a', kBuild = 'b', kGlobal = 'c', kDict = 'd', kEmptyDict = '}',
  kAppends = 'e', kGet = 'g', kBinGet = 'h', kInst = 'i', kLongBinGet = 'j', kList = 'l', kEmptyList = ']',
  kObj = 'o', kPut = 'p', kBinPut = 'q', kLongBinPut = 'r', kSetItem = 's', kTuple = 't', kEmptyTuple = ')',
  kSetItems = 'u', kBinFloat = 'G', kBinBytes = 'B', kShortBinBytes = 'C',
  kProto = 0x80, kNewObj = 0x81, kExt1 = 0x82, kExt2 = 0x83, kExt4 = 0x84, kTuple1 = 0x85, kTuple2 = 0x86,
  kTuple3 = 0x87, kNewTrue = 0x88, kNewFalse = 0x89, kLong1 = 0x8A, kLong4 = 0x8B,
  kShortBinUnicode = 0x8C, kBinUnicode8 = 0x8D, kBinBytes8 = 0x8E, kEmptySet = 0x8F, kAddItems = 0x90,
  kFrozenSet = 0x91, kNewObjEx = 0x92, kStackGlobal = 0x93, kMemoize = 0x94, kFrame = 0x95,
  kByteArray8 = 0x96, kNextBuffer = 0x97, kReadOnlyBuffer = 0x98,
};

/// The name in CPython's documentation, or "" for a byte that is no opcode.
std::string_view OpcodeName(uint8_t opcode);

}  // namespace memstrata::pickle

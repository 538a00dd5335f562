#pragma once

#include <cstdint>

namespace millpond::fix {

/// Number of a field. 0: the tag is not a positive number (`-1=`, `0=`, `035=`); the message still has the tag's text.
using Tag = std::uint32_t;

/// First user-defined tag.
inline constexpr Tag kFirstUserTag = 5000;
inline constexpr Tag kMaxTag = 999'999'999;

/// The tags that the session layer itself reads or writes.
///
/// Source: FIX 4.0 to 5.0 SP2 and FIXT 1.1, field definitions.
namespace tag {

inline constexpr Tag kInvalid = 0;
inline constexpr Tag kBeginSeqNo = 7;
inline constexpr Tag kBeginString = 8;
inline constexpr Tag kBodyLength = 9;
inline constexpr Tag kCheckSum = 10;
inline constexpr Tag kClOrdId = 11;
inline constexpr Tag kEndSeqNo = 16;
inline constexpr Tag kMsgSeqNum = 34;
inline constexpr Tag kMsgType = 35;
inline constexpr Tag kNewSeqNo = 36;
inline constexpr Tag kPossDupFlag = 43;
inline constexpr Tag kRefSeqNum = 45;
inline constexpr Tag kSenderCompId = 49;
inline constexpr Tag kSenderSubId = 50;
inline constexpr Tag kSendingTime = 52;
inline constexpr Tag kTargetCompId = 56;
inline constexpr Tag kTargetSubId = 57;
inline constexpr Tag kText = 58;
inline constexpr Tag kSignature = 89;
inline constexpr Tag kSignatureLength = 93;
inline constexpr Tag kPossResend = 97;
inline constexpr Tag kEncryptMethod = 98;
inline constexpr Tag kHeartBtInt = 108;
inline constexpr Tag kTestReqId = 112;
inline constexpr Tag kOnBehalfOfCompId = 115;
inline constexpr Tag kOnBehalfOfSubId = 116;
inline constexpr Tag kOrigSendingTime = 122;
inline constexpr Tag kGapFillFlag = 123;
inline constexpr Tag kDeliverToCompId = 128;
inline constexpr Tag kDeliverToSubId = 129;
inline constexpr Tag kResetSeqNumFlag = 141;
inline constexpr Tag kSenderLocationId = 142;
inline constexpr Tag kTargetLocationId = 143;
inline constexpr Tag kOnBehalfOfLocationId = 144;
inline constexpr Tag kDeliverToLocationId = 145;
inline constexpr Tag kLastMsgSeqNumProcessed = 369;
inline constexpr Tag kRefTagId = 371;
inline constexpr Tag kRefMsgType = 372;
inline constexpr Tag kSessionRejectReason = 373;
inline constexpr Tag kBusinessRejectReason = 380;
inline constexpr Tag kMsgDirection = 385;
inline constexpr Tag kUsername = 553;
inline constexpr Tag kPassword = 554;
inline constexpr Tag kNextExpectedMsgSeqNum = 789;
inline constexpr Tag kNewPassword = 925;
inline constexpr Tag kApplVerId = 1128;
inline constexpr Tag kRefApplVerId = 1130;
inline constexpr Tag kDefaultApplVerId = 1137;
inline constexpr Tag kSessionStatus = 1409;
inline constexpr Tag kDefaultVerIndicator = 1410;

}  // namespace tag
}  // namespace millpond::fix

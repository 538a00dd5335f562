#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <millpond/core/clock.hpp>
#include <millpond/fix/utc_time.hpp>
#include <millpond/fix/writer.hpp>

namespace millpond::engine {

/// A message to HOUSE with the current time; `body` has | for the delimiter.
inline std::string message(std::string_view begin_string, std::string_view type, int number, std::string_view sender,
                           std::string body) {
    for (auto& c : body) {
        if (c == '|') c = '\x01';
    }
    char time[fix::kMaxTimestampChars];
    const std::string now{time, fix::write_utc_timestamp(time, core::utc_nanos(), fix::TimePrecision::millis)};
    std::vector<char> memory(body.size() + 200);
    fix::Writer writer{memory, begin_string};
    writer.add<fix::tag::kMsgType>(type).add<fix::tag::kMsgSeqNum>(number).add<fix::tag::kSenderCompId>(sender);
    writer.add<fix::tag::kSendingTime>(std::string_view{now}).add<fix::tag::kTargetCompId>("HOUSE").add_fields(body);
    return std::string{writer.finish().value_or("")};
}

}  // namespace millpond::engine

#include <system_error>
#include <utility>

#include <millpond/files/line_reader.hpp>

namespace millpond::files {

LineReader::Outcome LineReader::next(std::string_view& line) {
    stream_.consume(std::exchange(shown_, 0));
    long_line_.clear();
    for (std::size_t searched = 0;;) {
        const auto shown = stream_.peek(searched + 1);
        const std::string_view text{reinterpret_cast<const char*>(shown.data()), shown.size()};
        const auto found = text.find('\n', searched);
        const bool at_end = text.size() == searched;
        const bool whole = found != std::string_view::npos || at_end;
        if (!whole && text.size() < detail::ByteStream::kMaxPeek) {
            searched = text.size();
            continue;
        }
        const auto part = text.substr(0, found);
        const auto consumed = part.size() + (found != std::string_view::npos ? 1 : 0);
        if (skips_) {
            skips_ = !whole;
            stream_.consume(consumed);
            return Outcome::again;
        }
        if (long_line_.size() + part.size() > kMaxLine) {
            skips_ = !whole;
            stream_.consume(consumed);
            return Outcome::too_long;
        }
        if (!whole) {
            long_line_ += part;
            stream_.consume(consumed);
            searched = 0;
            continue;
        }
        if (at_end && part.empty() && long_line_.empty()) return Outcome::end;
        shown_ = consumed;
        line = part;
        if (!long_line_.empty()) line = long_line_ += part;
        if (line.ends_with('\r')) line.remove_suffix(1);
        return Outcome::line;
    }
}

std::string LineReader::error() const {
    if (stream_.read_error() != 0) return "cannot be read: " + std::generic_category().message(stream_.read_error());
    return stream_.damage();
}

}  // namespace millpond::files

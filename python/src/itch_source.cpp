#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <millpond/feed/itch_decoder.hpp>
#include <millpond/files/itch_file_reader.hpp>
#include <millpond/memory/region_resource.hpp>

#include "feed_source.hpp"
#include "itch_fault.hpp"

namespace millpond::python {
namespace {

/// ITCH messages, each after its length, from the day's first on.
class ItchSource final : public FeedSource {
public:
    explicit ItchSource(const Options& options)
        : FeedSource(options),
          path_(options.path),
          reader_(options.path),
          decoder_(instruments_, {.order_books = books_for(options), .depth = options.depth, .orders = options.orders},
                   &tables_) {
        decoder_.set_midnight(options.midnight_utc_ns);
        decoder_.books().mark_complete();
    }

    bool read(Collector& rows, std::size_t max) override {
        rows_ = &rows;
        std::array<std::span<const std::byte>, kAtOnce> messages;
        for (std::size_t done = 0; done < max;) {
            const auto count = reader_.next(std::span{messages}.first(std::min(max - done, kAtOnce)));
            if (count == 0) {
                if (!reader_.error().empty()) errors_.add(reader_.error());
                return false;
            }
            decoder_.books().apply_all(std::span{messages.data(), count}, reader_.messages() - count + 1, {}, *this);
            done += count;
        }
        return true;
    }
    Counts counts() const override {
        Counts counts;
        add_counts(counts, decoder_);
        return counts;
    }
    std::uint64_t offset() const noexcept override { return reader_.offset(); }

    /// Called by the decoder.
    void on_fault(std::span<const std::byte> message, std::uint64_t number, feed::ItchFault fault) {
        errors_.add([&] {
            return "'" + path_ + "', message " + std::to_string(number) + " at byte " +
                   std::to_string(reader_.byte_of(message)) + ": " +
                   to_text(fault, message, stock_of(decoder_, message).view());
        });
    }

private:
    static constexpr std::size_t kAtOnce = 256;  // messages
    std::string path_;
    files::ItchFileReader reader_;
    memory::RegionResource tables_{{.huge_pages = memory::HugePages::transparent}};  // read at random
    feed::ItchDecoder decoder_;
};

}  // namespace

std::unique_ptr<Source> open_itch(const Source::Options& options) { return std::make_unique<ItchSource>(options); }

}  // namespace millpond::python

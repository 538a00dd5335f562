#include "src/engine/drop_copy/drop_copy_pump.hpp"
#include "src/engine/io/io_loop.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include <millpond/fix/frame.hpp>
#include <millpond/fix/routing.hpp>

namespace millpond::engine {
namespace {

constexpr fix::Tag kCopyMsgIndicator = 797;  // FIX 4.4 and later
constexpr std::string_view kExecutionReport = "8";
constexpr std::size_t kInFlight = 16'384;  // more than an OutputQueue holds
constexpr std::size_t kSpilledFields = 16'384;

/// The header of a record; nullopt if it is invalid, because a crash of the machine lost a part of the file.
std::optional<CopyHead> head_of(std::span<const std::byte> record) noexcept {
    CopyHead head;
    if (record.size() < sizeof head) return std::nullopt;
    std::memcpy(&head, record.data(), sizeof head);
    const bool is_direction = head.direction == Direction::in || head.direction == Direction::out;
    return is_direction && head.version <= fix::ApplicationVersion::latest ? std::optional{head} : std::nullopt;
}

fix::Parser::Options parser_options(const DropCopy::Terms& terms) {
    fix::Parser::Options options;
    for (const auto* dictionary : terms.sources) options.data_fields = dictionary->data_fields(options.data_fields);
    if (terms.dictionary != nullptr) options.data_fields = terms.dictionary->data_fields(options.data_fields);
    return options;
}

}  // namespace

fix::ApplicationVersion usual_version(const fix::Session& session) noexcept {
    const auto version = session.config().version;
    return version == fix::Version::fixt11 ? session.application_versions().usual()
                                           : fix::application_version_of(version);
}

DropCopy::Pump::Pump(DropCopy& copy, SessionHandle& target, const Terms& terms)
    : Sender(target, {.while_down = WhileDown::keep, .max_in_flight = kInFlight}),
      copy_(&copy),
      io_(&target.io()),
      parser_(parser_options(terms)),
      spill_(kSpilledFields),
      frame_fields_(terms.sources),
      dictionary_(terms.dictionary) {
    attach();
    io_->call([this] { slot_ = io_->loop().join(*this); });
}

DropCopy::Pump::~Pump() {
    detach();
    io_->call([this] { io_->loop().leave(slot_); });
}

/// Pops from the queues in turn: first those of earlier processes, then those of the producers.
bool DropCopy::Pump::pop(detail::Outgoing& into) noexcept {
    const auto pop_from = [&](queue::RecordRing& ring, std::size_t number) {
        const auto record = ring.front();
        if (record.data() == nullptr) return false;
        into = {.message = const_cast<std::byte*>(record.data()), .token = number, .handed_ticks = core::ticks()};
        return true;
    };
    for (; left_ < copy_->left_.size(); ++left_) {
        if (pop_from(copy_->left_[left_]->ring(), left_)) return true;
    }
    const auto count = copy_->producers_.size();
    for (std::size_t i = 1; i <= count; ++i) {
        const auto producer = (turn_ + i) % count;
        if (!pop_from(copy_->producers_[producer]->queue->ring(), left_ + producer)) continue;
        turn_ = producer;
        return true;
    }
    return false;
}

bool DropCopy::Pump::carries(const fix::Session& session, fix::ApplicationVersion version) const noexcept {
    return session.config().version == fix::Version::fixt11 ? session.application_versions().has(version)
                                                            : usual_version(session) == version;
}

bool DropCopy::Pump::supports_indicator(const fix::Session& session, fix::ApplicationVersion version,
                                        const fix::Message& message) const noexcept {
    if (message.has(kCopyMsgIndicator)) return false;
    const auto* const dictionary = session.config().version == fix::Version::fixt11
                                       ? session.application_versions().dictionary(version)
                                       : dictionary_;
    if (dictionary == nullptr) {
        return version >= fix::ApplicationVersion::fix44 && message.msg_type() == kExecutionReport;
    }
    const auto* const definition = dictionary->message(message.msg_type());
    return definition != nullptr && definition->fields.has(kCopyMsgIndicator);
}

/// Adds the message without the fields of header and trailer, wherever they are, in as few pieces as possible.
void DropCopy::Pump::add_body(fix::Writer& writer, const fix::Message& message) const noexcept {
    std::size_t begin = 0;
    std::size_t end = 0;
    for (const auto& field : message.fields()) {
        const bool is_body = !frame_fields_.has(field.tag);
        if (is_body && begin == end) begin = field.offset - message.tag_text(field).size() - 1;
        if (is_body) {
            end = field.offset + field.length + 1;
        } else if (begin != end) {
            writer.add_fields(message.bytes().substr(begin, end - begin));
            begin = end;
        }
    }
}

template <bool keeps>
bool DropCopy::Pump::hand(fix::Session& session, const detail::Outgoing& outgoing, core::Moment now) {
    auto& queue = queue_of(outgoing);
    const auto record = queue.ring().front();
    wrong_version_ = false;
    const auto known = head_of(record);
    if (!known) return false;
    auto head = *known;
    const auto bytes = record.subspan(sizeof head);
    const auto frame = fix::next_frame(bytes, bytes.size());
    const auto message = frame ? parser_.parse(*frame, spill_) : std::unexpected(fix::FrameError::incomplete);
    if (!message) return false;
    if (const auto id = message->text(fix::tag::kApplVerId)) {
        head.version = fix::application_version_of(*id).value_or(head.version);
    }
    wrong_version_ = !carries(session, head.version);
    if (wrong_version_) return false;
    const bool is_out = head.direction == Direction::out;
    const auto text = [&](fix::Tag tag) { return message->text(tag).value_or(""); };
    const fix::Routing routing{
        .on_behalf_of_comp_id = text(is_out ? fix::tag::kTargetCompId : fix::tag::kSenderCompId),
        .on_behalf_of_sub_id = text(is_out ? fix::tag::kTargetSubId : fix::tag::kSenderSubId),
        .appl_ver_id = head.version == usual_version(session) ? std::string_view{} : appl_ver_id(head.version),
        .poss_resend = queue.may_be_there() || message->boolean(fix::tag::kPossResend).value_or(false)};
    const auto fill = [&](fix::Writer& writer) {
        add_body(writer, *message);
        if (supports_indicator(session, head.version, *message)) writer.add<kCopyMsgIndicator>(true);
    };
    const auto refused_before = session.store().counters().refused.read();
    const bool is_accepted = keeps ? session.keep(message->msg_type(), now, fill, routing)
                                   : session.send(message->msg_type(), now, fill, routing);
    copy_->store_is_full_.store(session.store().counters().refused.read() != refused_before, std::memory_order_relaxed);
    if (is_accepted) copy_->counters_.mirrored.add();
    copy_->resets_seen_ = session.store().counters().resets.read();
    return is_accepted;
}

void DropCopy::Pump::report_sent(const Sent& sent) noexcept {
    if (sent.written) return;
    copy_->counters_.unsent.add();
    copy_->last_unsent_ = std::max(copy_->last_unsent_, sent.sequence);
}

/// Updates the unsent copies: they are in the store, unless its numbers were reset meanwhile.
void DropCopy::Pump::settle_unsent(const fix::Session& session, bool is_logged_on) noexcept {
    const auto unsent = copy_->counters_.unsent.read();
    if (unsent == 0) return;
    const auto& store = session.store();
    const bool was_reset = store.counters().resets.read() != copy_->resets_seen_;
    const bool are_gone = was_reset || store.next_sender() <= copy_->last_unsent_;
    if (are_gone) copy_->counters_.discarded.add(unsent);
    if (!are_gone && !is_logged_on) return;
    copy_->counters_.unsent.set(0);
    copy_->last_unsent_ = 0;
}

void DropCopy::Pump::report_failed(const detail::Outgoing&, SendFailure failure) noexcept {
    auto& counters = copy_->counters_;
    if (failure == SendFailure::shut_down) {
        counters.abandoned.add();
    } else {
        (wrong_version_ ? counters.wrong_version : counters.not_encoded).add();
    }
}

}  // namespace millpond::engine

#include <millpond/engine/drop_copy.hpp>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include <millpond/engine/detail/participant.hpp>
#include <millpond/engine/detail/sender.hpp>
#include <millpond/fix/frame.hpp>
#include <millpond/fix/msg_type.hpp>
#include <millpond/fix/parser.hpp>
#include <millpond/fix/routing.hpp>

#include "copy_queue.hpp"

namespace millpond::engine {
namespace {

constexpr fix::Tag kCopyMsgIndicator = 797;  // FIX 4.4 and later
constexpr std::string_view kExecutionReport = "8";
constexpr std::size_t kInFlight = 16'384;  // more than an OutputQueue holds
constexpr std::size_t kSpilledFields = 16'384;

/// Header of each message in a ring.
struct Head {
    Direction direction;
    fix::ApplicationVersion version;
};

/// Nothing where it cannot be one: the machine lost a part of the file.
std::optional<Head> head_of(std::span<const std::byte> record) noexcept {
    Head head;
    if (record.size() < sizeof head) return std::nullopt;
    std::memcpy(&head, record.data(), sizeof head);
    const bool is_direction = head.direction == Direction::in || head.direction == Direction::out;
    return is_direction && head.version <= fix::ApplicationVersion::latest ? std::optional{head} : std::nullopt;
}

fix::ApplicationVersion usual_version(const fix::Session& session) noexcept {
    const auto version = session.config().version;
    return version == fix::Version::fixt11 ? session.application_versions().usual()
                                           : fix::application_version_of(version);
}

/// Fields outside of the body: those of the standard in any version, and of dictionaries.
class FrameFields {
public:
    explicit FrameFields(std::span<const fix::Dictionary* const> dictionaries) {
        for (auto version = fix::Version::fix40; version <= fix::Version::fixt11;
             version = static_cast<fix::Version>(static_cast<int>(version) + 1)) {
            add(fix::Dictionary::session_level(version));
        }
        for (const auto* dictionary : dictionaries) add(*dictionary);
    }
    [[nodiscard]] bool has(fix::Tag tag) const noexcept {
        return tag < tags_.size() ? tags_[tag] : std::ranges::binary_search(further_, tag);
    }

private:
    void add(const fix::Dictionary& dictionary) {
        add(dictionary.header());
        add(dictionary.trailer());
        std::ranges::sort(further_);
    }
    void add(const fix::FieldSet& fields) {
        for (const auto& member : fields.members()) {
            if (member.group != nullptr) add(*member.group);
            if (member.tag < tags_.size()) {
                tags_.set(member.tag);
            } else {
                further_.push_back(member.tag);
            }
        }
    }

    std::bitset<2048> tags_;
    std::vector<fix::Tag> further_;
};

fix::Parser::Options parser_options(const DropCopy::Terms& terms) {
    fix::Parser::Options options;
    for (const auto* dictionary : terms.sources) options.data_fields = dictionary->data_fields(options.data_fields);
    if (terms.dictionary != nullptr) options.data_fields = terms.dictionary->data_fields(options.data_fields);
    return options;
}

}  // namespace

struct DropCopy::Producer {
    std::unique_ptr<CopyQueue> queue;
    core::Tally offered;
    core::Tally queue_full;
    core::Tally store_full;
};

/// Takes the copies out of the rings on the target's I/O thread.
class DropCopy::Pump final : public detail::Sender, private detail::Participant {
public:
    Pump(DropCopy& copy, SessionHandle& target, const Terms& terms)
        : Sender(target, {.while_down = WhileDown::keep, .max_in_flight = kInFlight}),
          copy_(&copy),
          target_(&target),
          io_(&target.io()),
          parser_(parser_options(terms)),
          spill_(kSpilledFields),
          frame_fields_(terms.sources),
          dictionary_(terms.dictionary) {
        attach();
        io_->call([this] { slot_ = io_->join(*this); });
    }
    ~Pump() {
        detach();
        io_->call([this] { io_->leave(slot_); });
    }
    Pump(const Pump&) = delete;
    Pump& operator=(const Pump&) = delete;

    [[nodiscard]] IoThread& io() const noexcept { return *io_; }
    [[nodiscard]] std::size_t slot() const noexcept { return slot_; }

    [[nodiscard]] std::size_t depth() const noexcept override {
        std::size_t sum = 0;
        for (const auto& left : copy_->left_) sum += left->ring().records();
        for (const auto& producer : copy_->producers_) sum += producer->queue->ring().records();
        return sum;
    }

private:
    // Participant: producers signal it, whichever session is the current target.
    void on_signal(core::Moment) override { signal(); }
    std::int64_t on_timer(core::Moment) override { return detail::kNever; }

    // Sender
    bool take(detail::Outgoing& into) noexcept override;
    bool send(fix::Session& session, const detail::Outgoing& outgoing, core::Moment now) override {
        settle_unsent(session, true);
        return hand<false>(session, outgoing, now);
    }
    bool keep(fix::Session& session, const detail::Outgoing& outgoing, core::Moment now) override {
        settle_unsent(session, false);
        return hand<true>(session, outgoing, now);
    }
    [[nodiscard]] bool is_filling() const noexcept override {
        return std::ranges::any_of(copy_->producers_,
                                   [](const auto& one) { return one->queue->ring().is_half_full(); });
    }
    [[nodiscard]] bool outlives_the_session() const noexcept override { return copy_->is_in_file(); }
    void release(const detail::Outgoing& outgoing) noexcept override { queue_of(outgoing).release(); }
    void tell_sent(const Sent& sent) noexcept override;
    void tell_failed(const detail::Outgoing& outgoing, SendFailure failure) noexcept override;
    void on_logon(const fix::Session& session) noexcept override { settle_unsent(session, true); }
    void on_history_lost(const fix::LostHistory& lost) noexcept override {
        copy_->counters_.overwritten.add(lost.messages);
    }

    template <bool keeps>
    [[nodiscard]] bool hand(fix::Session& session, const detail::Outgoing& outgoing, core::Moment now);
    [[nodiscard]] CopyQueue& queue_of(const detail::Outgoing& outgoing) const noexcept {
        const auto left = copy_->left_.size();
        return outgoing.token < left ? *copy_->left_[outgoing.token] : *copy_->producers_[outgoing.token - left]->queue;
    }
    [[nodiscard]] bool carries(const fix::Session& session, fix::ApplicationVersion version) const noexcept;
    [[nodiscard]] bool takes_indicator(const fix::Session& session, fix::ApplicationVersion version,
                                       const fix::Message& message) const noexcept;
    void add_body(fix::Writer& writer, const fix::Message& message) const noexcept;
    void settle_unsent(const fix::Session& session, bool is_logged_on) noexcept;

    DropCopy* copy_;
    SessionHandle* target_;
    IoThread* io_;
    std::size_t slot_{0};
    fix::Parser parser_;
    std::vector<fix::Field> spill_;
    FrameFields frame_fields_;
    const fix::Dictionary* dictionary_;
    std::size_t left_{0};  // queues of earlier processes that are empty
    std::size_t turn_{0};  // the producer that was asked last
    bool wrong_version_{false};
};

/// The numbers of the queues: first those that were left, then those of the producers.
bool DropCopy::Pump::take(detail::Outgoing& into) noexcept {
    const auto take_from = [&](queue::RecordRing& ring, std::size_t number) {
        const auto record = ring.front();
        if (record.data() == nullptr) return false;
        into = {.message = const_cast<std::byte*>(record.data()), .token = number, .handed_ticks = core::ticks()};
        return true;
    };
    for (; left_ < copy_->left_.size(); ++left_) {
        if (take_from(copy_->left_[left_]->ring(), left_)) return true;
    }
    const auto count = copy_->producers_.size();
    for (std::size_t i = 1; i <= count; ++i) {
        const auto producer = (turn_ + i) % count;
        if (!take_from(copy_->producers_[producer]->queue->ring(), left_ + producer)) continue;
        turn_ = producer;
        return true;
    }
    return false;
}

bool DropCopy::Pump::carries(const fix::Session& session, fix::ApplicationVersion version) const noexcept {
    return session.config().version == fix::Version::fixt11 ? session.application_versions().has(version)
                                                            : usual_version(session) == version;
}

bool DropCopy::Pump::takes_indicator(const fix::Session& session, fix::ApplicationVersion version,
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

/// The message without the fields of header and trailer, wherever they are, in as few pieces as possible.
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
        if (takes_indicator(session, head.version, *message)) writer.add<kCopyMsgIndicator>(true);
    };
    const auto refused_before = session.store().counters().refused.read();
    const bool is_taken = keeps ? session.keep(message->msg_type(), now, fill, routing)
                                : session.send(message->msg_type(), now, fill, routing);
    copy_->store_is_full_.store(session.store().counters().refused.read() != refused_before, std::memory_order_relaxed);
    if (is_taken) copy_->counters_.mirrored.add();
    copy_->resets_seen_ = session.store().counters().resets.read();
    return is_taken;
}

void DropCopy::Pump::tell_sent(const Sent& sent) noexcept {
    if (sent.written) return;
    copy_->counters_.unsent.add();
    copy_->last_unsent_ = std::max(copy_->last_unsent_, sent.sequence);
}

/// Copies not yet sent to the counterparty are in the store, unless its numbers were reset meanwhile.
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

void DropCopy::Pump::tell_failed(const detail::Outgoing&, SendFailure failure) noexcept {
    auto& counters = copy_->counters_;
    if (failure == SendFailure::shut_down) {
        counters.abandoned.add();
    } else {
        (wrong_version_ ? counters.wrong_version : counters.not_encoded).add();
    }
}

DropCopy::DropCopy(Options options) : options_(std::move(options)) {
    take_over_files();
    const auto there = is_in_file() ? CopyQueue::numbers(options_.file) : std::vector<std::size_t>{};
    auto number = there.empty() ? 0 : there.back();
    for (std::size_t i = 0; i < options_.producers; ++i) {
        producers_.push_back(std::make_unique<Producer>());
        producers_.back()->queue = is_in_file()
                                       ? std::make_unique<CopyQueue>(CopyQueue::numbered(options_.file, ++number),
                                                                     options_.queue_bytes, options_.file_mode)
                                       : std::make_unique<CopyQueue>(options_.queue_bytes);
    }
}

DropCopy::~DropCopy() { detach(); }

/// What no other process, and no other drop copy of this one, uses.
void DropCopy::take_over_files() {
    if (!is_in_file()) return;
    for (const auto number : CopyQueue::numbers(options_.file)) {
        auto left = CopyQueue::left_in(CopyQueue::numbered(options_.file, number));
        if (left == nullptr || left->ring().records() == 0) continue;
        recovered_.add(left->ring().records());
        const std::lock_guard guard{left_lock_};
        left_.push_back(std::move(left));
    }
}

void DropCopy::forget_empty_files() noexcept {
    const std::lock_guard guard{left_lock_};
    std::erase_if(left_, [](const auto& left) { return left->ring().records() == 0; });
}

void DropCopy::discard() noexcept {
    detach();
    for (const auto& left : left_) left->discard();
    for (const auto& producer : producers_) producer->queue->discard();
}

void DropCopy::attach(SessionHandle& target, const Terms& terms) {
    detach();
    take_over_files();
    resets_seen_ = 0;  // of another store
    pump_ = std::make_unique<Pump>(*this, target, terms);
    slot_.store(pump_->slot(), std::memory_order_relaxed);
    io_.store(&pump_->io(), std::memory_order_release);  // sync "target known": wake
    wake();
}

void DropCopy::detach() noexcept {
    io_.store(nullptr, std::memory_order_release);
    pump_.reset();
    forget_empty_files();
}

/// Afterwards the slot may belong to another participant, which an extra signal does not harm.
void DropCopy::wake() noexcept {
    auto* const io = io_.load(std::memory_order_acquire);  // sync "target known": attach
    if (io != nullptr) io->signal(slot_.load(std::memory_order_relaxed));
}

bool DropCopy::offer(std::size_t producer, Direction direction, fix::ApplicationVersion version,
                     std::string_view message) noexcept {
    auto& from = *producers_[producer];
    from.offered.add();
    const Head head{.direction = direction, .version = version};
    auto* const place = from.queue->ring().claim(sizeof head + message.size());
    if (place == nullptr) {
        const bool is_long = sizeof head + message.size() > from.queue->ring().most_bytes();
        const bool is_stores = !is_long && store_is_full_.load(std::memory_order_relaxed);
        (is_stores ? from.store_full : from.queue_full).add();
        return false;
    }
    std::memcpy(place, &head, sizeof head);
    std::memcpy(place + sizeof head, message.data(), message.size());
    from.queue->ring().publish();
    wake();
    return true;
}

bool DropCopy::offer_sent(std::size_t producer, const fix::Session& source, std::string_view message) noexcept {
    auto version = usual_version(source);
    const auto type = fix::msg_type_of(message);
    for (const auto& one : source.config().logon_types) {
        if (one.sends && one.is_default && one.type == type) version = *one.version;
    }
    return offer(producer, Direction::out, version, message);
}

bool DropCopy::offer_received(std::size_t producer, const fix::Session& source, const fix::Message& message) noexcept {
    auto version = usual_version(source);
    if (source.config().version == fix::Version::fixt11) {
        version = source.application_versions().of(message).value_or(version);
    }
    return offer(producer, Direction::in, version, message.bytes());
}

DropCopy::Status DropCopy::status() const noexcept {
    Status status;
    status.mirrored = counters_.mirrored.read();
    status.not_encoded = counters_.not_encoded.read();
    status.wrong_version = counters_.wrong_version.read();
    status.abandoned = counters_.abandoned.read();
    status.discarded = counters_.discarded.read();
    status.overwritten = counters_.overwritten.read();
    status.recovered = recovered_.read();
    {
        const std::lock_guard guard{left_lock_};
        for (const auto& left : left_) status.waiting += left->ring().records();
    }
    for (const auto& producer : producers_) {
        status.waiting += producer->queue->ring().records();
        status.queue_full += producer->queue_full.read();
        status.store_full += producer->store_full.read();
        status.offered += producer->offered.read();
    }
    return status;
}

std::vector<metrics::Registration> DropCopy::add_metrics(metrics::Registry& registry) const {
    std::vector<metrics::Registration> list;
    const metrics::Labels labels{{"drop_copy", options_.name}};
    const auto counter = [&](const char* metric, const char* help, std::uint64_t Status::* part) {
        list.push_back(
            registry.add_counter({metric, help, labels}, [this, part] { return static_cast<double>(status().*part); }));
    };
    counter("millpond_fix_drop_copy_offered_total", "Messages to mirror.", &Status::offered);
    counter("millpond_fix_drop_copy_recovered_total", "Copies that an earlier process left in its queues.",
            &Status::recovered);
    counter("millpond_fix_drop_copy_mirrored_total", "Copies with a number in the store of their session.",
            &Status::mirrored);
    const auto lost = [&](const char* reason, std::uint64_t Status::* part) {
        auto with = labels;
        with.emplace_back("reason", reason);
        list.push_back(registry.add_counter({"millpond_fix_drop_copy_lost_total", "Copies that were lost.", with},
                                            [this, part] { return static_cast<double>(status().*part); }));
    };
    lost("queue_full", &Status::queue_full);
    lost("store_full", &Status::store_full);
    lost("not_encoded", &Status::not_encoded);
    lost("wrong_version", &Status::wrong_version);
    lost("abandoned", &Status::abandoned);
    lost("discarded", &Status::discarded);
    lost("overwritten", &Status::overwritten);
    list.push_back(registry.add_gauge({"millpond_fix_drop_copy_waiting", "Copies that wait for a number.", labels},
                                      [this] { return static_cast<double>(status().waiting); }));
    return list;
}

}  // namespace millpond::engine

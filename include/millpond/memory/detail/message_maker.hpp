#pragma once

#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <millpond/memory/pooled.hpp>

namespace millpond::memory::detail {

/// Placeholder for an absent argument.
struct Absent {};

template <class... Args>
inline constexpr std::size_t kGiven = (std::size_t{0} + ... + (std::is_same_v<Args, Absent> ? 0U : 1U));

template <class T, class Tuple, std::size_t... I>
consteval bool makes(std::index_sequence<I...> /*given*/) {
    return std::constructible_from<T, std::tuple_element_t<I, Tuple>...>;
}

/// Whether T can be constructed from those of Args that are not Absent.
template <class T, class... Args>
concept MadeFrom = makes<T, std::tuple<Args...>>(std::make_index_sequence<kGiven<Args...>>{});

/// MessagePool's functions that make a message.
template <class Pool, class T, class Policy, bool kNamesPlace = Policy::kChecked>
class MessageMaker {
public:
    /// Null if the pool is exhausted, unless its exhaustion policy says otherwise. If the constructor throws, the block
    /// is released.
    template <class... Args>
        requires std::constructible_from<T, Args...>
    [[nodiscard]] Pooled<T> try_make(Args&&... args) {
        return self().adopt(acquire(std::forward<Args>(args)...));
    }

    /// Like try_make, for messages passed as raw pointers.
    template <class... Args>
        requires std::constructible_from<T, Args...>
    [[nodiscard]] T* acquire(Args&&... args) {
        return self().acquire_at(Policy::Place::current(), std::forward<Args>(args)...);
    }

private:
    friend Pool;
    MessageMaker() = default;

    [[nodiscard]] Pool& self() noexcept { return static_cast<Pool&>(*this); }
};

/// For checked pools: only a default argument can capture the caller's line, and no parameter can follow a pack. Up to
/// eight arguments are therefore named; with more, the place is unknown.
template <class Pool, class T, class Policy>
class MessageMaker<Pool, T, Policy, true> {
    using Place = typename Policy::Place;
    static constexpr std::size_t kMaxNamed = 8;

public:
    template <class A = Absent, class B = Absent, class C = Absent, class D = Absent, class E = Absent,
              class F = Absent, class G = Absent, class H = Absent>
        requires MadeFrom<T, A, B, C, D, E, F, G, H>
    [[nodiscard]] Pooled<T> try_make(A&& a = {}, B&& b = {}, C&& c = {}, D&& d = {}, E&& e = {}, F&& f = {}, G&& g = {},
                                     H&& h = {}, Place place = Place::current()) {
        return self().adopt(make<A, B, C, D, E, F, G, H>(place, std::forward_as_tuple(a, b, c, d, e, f, g, h)));
    }
    template <class... Args>
        requires(sizeof...(Args) > kMaxNamed && std::constructible_from<T, Args...>)
    [[nodiscard]] Pooled<T> try_make(Args&&... args) {
        return self().adopt(acquire(std::forward<Args>(args)...));
    }

    template <class A = Absent, class B = Absent, class C = Absent, class D = Absent, class E = Absent,
              class F = Absent, class G = Absent, class H = Absent>
        requires MadeFrom<T, A, B, C, D, E, F, G, H>
    [[nodiscard]] T* acquire(A&& a = {}, B&& b = {}, C&& c = {}, D&& d = {}, E&& e = {}, F&& f = {}, G&& g = {},
                             H&& h = {}, Place place = Place::current()) {
        return make<A, B, C, D, E, F, G, H>(place, std::forward_as_tuple(a, b, c, d, e, f, g, h));
    }
    template <class... Args>
        requires(sizeof...(Args) > kMaxNamed && std::constructible_from<T, Args...>)
    [[nodiscard]] T* acquire(Args&&... args) {
        return self().acquire_at(Place::unknown(), std::forward<Args>(args)...);
    }

private:
    friend Pool;
    MessageMaker() = default;

    [[nodiscard]] Pool& self() noexcept { return static_cast<Pool&>(*this); }

    template <class... Args, class Tuple>
    [[nodiscard]] T* make(Place place, Tuple all) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            using Given = std::tuple<Args&&...>;
            return self().acquire_at(place, static_cast<std::tuple_element_t<I, Given>>(std::get<I>(all))...);
        }(std::make_index_sequence<kGiven<Args...>>{});
    }
};

}  // namespace millpond::memory::detail

// Forwards C11's threads, mutexes and conditions to pthread's for ThreadSanitizer, which knows only the latter, in
// libraries that are not instrumented. Linked into a program, these functions replace libc's. Read-write locks have
// pthread's names already, but calls directly from an ignored library establish no order, so they are forwarded too.
// glibc's mtx_t, cnd_t and thrd_t are pthread's types under other names, so that omitted functions (trylock, timedlock,
// ...) work on the same objects. Source: C11 7.26; glibc's nptl/mtx_init.c and its neighbours.
#include <dlfcn.h>
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>
#include <memory>

namespace {

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));
static_assert(sizeof(once_flag) == sizeof(pthread_once_t));

struct Start {
    thrd_start_t function;
    void* argument;
};

void* run(void* raw) {
    const auto start = *std::unique_ptr<Start>{static_cast<Start*>(raw)};
    return reinterpret_cast<void*>(static_cast<std::intptr_t>(start.function(start.argument)));
}

int answer(int error) {
    switch (error) {
        case 0: return thrd_success;
        case ENOMEM:
        case EAGAIN: return thrd_nomem;
        case ETIMEDOUT: return thrd_timedout;
        case EBUSY: return thrd_busy;
        default: return thrd_error;
    }
}

pthread_mutex_t* of(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* of(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

using LockCall = int (*)(pthread_rwlock_t*);
/// The next function of this name after ours: ThreadSanitizer's.
LockCall next(const char* name) { return reinterpret_cast<LockCall>(dlsym(RTLD_NEXT, name)); }

}  // namespace

extern "C" {

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
    auto start = std::make_unique<Start>(function, argument);
    const int error = pthread_create(thread, nullptr, run, start.get());
    if (error == 0) static_cast<void>(start.release());  // owned by run
    return answer(error);
}

int thrd_join(thrd_t thread, int* result) {
    void* returned = nullptr;
    const int error = pthread_join(thread, &returned);
    if (result != nullptr) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(returned));
    return answer(error);
}

int mtx_init(mtx_t* mutex, int type) {
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, (type & mtx_recursive) != 0 ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
    const int error = pthread_mutex_init(of(mutex), &kind);
    pthread_mutexattr_destroy(&kind);
    return answer(error);
}
int mtx_lock(mtx_t* mutex) { return answer(pthread_mutex_lock(of(mutex))); }
int mtx_unlock(mtx_t* mutex) { return answer(pthread_mutex_unlock(of(mutex))); }
void mtx_destroy(mtx_t* mutex) { pthread_mutex_destroy(of(mutex)); }

int cnd_init(cnd_t* condition) { return answer(pthread_cond_init(of(condition), nullptr)); }
int cnd_signal(cnd_t* condition) { return answer(pthread_cond_signal(of(condition))); }
int cnd_broadcast(cnd_t* condition) { return answer(pthread_cond_broadcast(of(condition))); }
int cnd_wait(cnd_t* condition, mtx_t* mutex) { return answer(pthread_cond_wait(of(condition), of(mutex))); }
int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
    return answer(pthread_cond_timedwait(of(condition), of(mutex), until));
}
void cnd_destroy(cnd_t* condition) { pthread_cond_destroy(of(condition)); }

void call_once(once_flag* flag, void (*function)()) { pthread_once(reinterpret_cast<pthread_once_t*>(flag), function); }

int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
    static const auto call = next("pthread_rwlock_rdlock");
    return call(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
    static const auto call = next("pthread_rwlock_wrlock");
    return call(lock);
}
int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
    static const auto call = next("pthread_rwlock_unlock");
    return call(lock);
}

// Ignores data races inside librdkafka: its reference counts are atomic words that ThreadSanitizer does not see, so its
// calls of memcpy and free would look like races. The project's code on its threads is still checked.
const char* __tsan_default_suppressions() { return "called_from_lib:librdkafka.so\n"; }

}  // extern "C"

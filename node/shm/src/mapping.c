// map(path): maps a file, such as a shared memory object, as an ArrayBuffer over read-only pages. Returns the errno of the step
// that failed instead.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <node_api.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void unmap(napi_env env, void* data, void* bytes) {
    (void)env;
    munmap(data, (size_t)(uintptr_t)bytes);
}

static napi_value error_number(napi_env env, int number) {
    napi_value result = NULL;
    napi_create_int32(env, number, &result);
    return result;
}

// Maps the whole file. MAP_FAILED with errno set on failure; EAGAIN for an empty file, which is being made.
static void* map_file(const char* path, size_t* bytes) {
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return MAP_FAILED;
    struct stat found;
    void* data = MAP_FAILED;
    if (fstat(file, &found) != 0) {
        // errno is set
    } else if (!S_ISREG(found.st_mode)) {
        errno = EINVAL;
    } else if (found.st_size == 0) {
        errno = EAGAIN;
    } else {
        *bytes = (size_t)found.st_size;
        data = mmap(NULL, *bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    }
    const int number = errno;
    close(file);
    errno = number;
    return data;
}

static napi_value map(napi_env env, napi_callback_info info) {
    size_t count = 1;
    napi_value name = NULL;
    napi_get_cb_info(env, info, &count, &name, NULL, NULL);
    char path[PATH_MAX];
    size_t length = 0;
    if (count != 1 || napi_get_value_string_utf8(env, name, path, sizeof path, &length) != napi_ok || length == 0 ||
        length == sizeof path - 1) {
        return error_number(env, EINVAL);
    }
    size_t bytes = 0;
    void* data = map_file(path, &bytes);
    if (data == MAP_FAILED) return error_number(env, errno);
    napi_value result = NULL;
    const napi_status status =
        napi_create_external_arraybuffer(env, data, bytes, unmap, (void*)(uintptr_t)bytes, &result);
    if (status != napi_ok) {
        munmap(data, bytes);
        return error_number(env, ENOTSUP);
    }
    return result;
}

NAPI_MODULE_INIT() {
    napi_value function = NULL;
    if (napi_create_function(env, "map", NAPI_AUTO_LENGTH, map, NULL, &function) == napi_ok) {
        napi_set_named_property(env, exports, "map", function);
    }
    return exports;
}

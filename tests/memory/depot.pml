/* The depot of a pool: THREADS caches of two magazines each exchange whole magazines with two stacks, whose heads are
 * {index, tag}. Checked for every interleaving of OPS operations a thread (FIRST_OPS on the first):
 *   - no block has two owners;
 *   - an acquire refuses only while CAPACITY blocks or more are in use;
 *   - a thread that needs an empty magazine finds one.
 * A release may take a block that another thread acquired.
 *
 *   spin -a depot.pml && gcc -O2 -DSAFETY -o pan pan.c && ./pan -m100000
 *
 * With -DUNTAGGED the heads are the index alone: the search ends with a block that has two owners.
 */
#ifndef THREADS
#define THREADS 2
#endif
#ifndef M
#define M 1 /* blocks in a magazine */
#endif
#ifndef CAPACITY
#define CAPACITY 1
#endif
#ifndef OPS
#define OPS 5
#endif
#ifndef FIRST_OPS
#define FIRST_OPS OPS /* of the first thread */
#endif

/* What the other caches may hold is owned on top of the capacity; two magazines a cache are not full. */
#define BLOCKS (CAPACITY + 2 * M * (THREADS - 1))
#define FULL ((BLOCKS + M - 1) / M)
#define MAGAZINES (FULL + 2 * THREADS)
#define NONE 255

#ifdef UNTAGGED
#define NEXT_TAG(tag) 0
#else
#define NEXT_TAG(tag) (tag + 1)
#endif

typedef Stack {
    byte index;
    byte tag
}

Stack full_stack;
Stack empty_stack;
byte link[MAGAZINES];
byte content[MAGAZINES * M];

byte in_use = 0;           /* acquired, release not complete */
byte owners[FULL * M];     /* of each block: 0 or 1 */

#define PUSH(stack, magazine)                                                        \
    do                                                                               \
    :: atomic { head_index = stack.index; head_tag = stack.tag };                    \
       link[magazine] = head_index;                                                  \
       if                                                                            \
       :: atomic { stack.index == head_index && stack.tag == head_tag ->             \
                   stack.index = magazine; stack.tag = NEXT_TAG(head_tag) };         \
          break                                                                      \
       :: else                                                                       \
       fi                                                                            \
    od;                                                                              \
    head_index = 0; head_tag = 0

/* `at_none` runs in the step that finds the stack empty. */
#define POP(stack, magazine, at_none)                                                \
    do                                                                               \
    :: atomic {                                                                      \
           head_index = stack.index; head_tag = stack.tag;                           \
           if                                                                        \
           :: head_index == NONE -> at_none; magazine = NONE; break                  \
           :: else                                                                   \
           fi                                                                        \
       };                                                                            \
       next = link[head_index];                                                      \
       if                                                                            \
       :: atomic { stack.index == head_index && stack.tag == head_tag ->             \
                   stack.index = next; stack.tag = NEXT_TAG(head_tag);               \
                   magazine = head_index };                                          \
          break                                                                      \
       :: else                                                                       \
       fi                                                                            \
    od;                                                                              \
    head_index = 0; head_tag = 0; next = 0

proctype Thread(byte loaded; byte spare; byte operations) {
    byte level = 0;
    bool spare_full = false;
    byte head_index, head_tag, next, magazine, block;
    byte done = 0;
    byte i;

    do
    :: done == operations -> break
    :: done < operations ->
        done++;
        if
        :: true -> /* acquire */
            if
            :: level == 0 && spare_full ->
                d_step { magazine = loaded; loaded = spare; spare = magazine; level = M; spare_full = false; magazine = 0 }
            :: level == 0 && !spare_full ->
                POP(full_stack, magazine, assert(in_use >= CAPACITY));
                if
                :: magazine != NONE ->
                    PUSH(empty_stack, loaded);
                    d_step { loaded = magazine; level = M; magazine = 0 }
                :: else -> magazine = 0
                fi
            :: else
            fi;
            if
            :: level > 0 ->
                d_step {
                    level--;
                    block = content[loaded * M + level];
                    assert(owners[block] == 0);
                    owners[block] = 1;
                    in_use++;
                    block = 0
                }
            :: else
            fi
        :: in_use > 0 -> /* release: any block that is out and that no other thread is releasing */
            atomic {
                block = NONE;
                i = 0;
                do
                :: i < FULL * M && owners[i] == 1 -> block = i; owners[i] = 0; i = 0; break
                :: i < FULL * M -> i++
                :: i == FULL * M -> i = 0; break
                od
            };
            if
            :: block == NONE
            :: else ->
                if
                :: level == M && !spare_full ->
                    d_step { magazine = loaded; loaded = spare; spare = magazine; level = 0; spare_full = true; magazine = 0 }
                :: level == M && spare_full ->
                    POP(empty_stack, magazine, assert(false));
                    PUSH(full_stack, loaded);
                    d_step { loaded = magazine; level = 0; magazine = 0 }
                :: else
                fi;
                d_step { content[loaded * M + level] = block; level++; in_use--; block = 0 }
            fi
        fi
    od
}

init {
    byte m, b, t;
    atomic {
        full_stack.index = NONE;
        empty_stack.index = NONE;
        m = 0;
        do
        :: m < FULL ->
            b = 0;
            do
            :: b < M -> content[m * M + b] = m * M + b; b++
            :: else -> break
            od;
            link[m] = full_stack.index;
            full_stack.index = m;
            m++
        :: else -> break
        od;
        /* Two for each thread, the rest of them on the stack. */
        t = 0;
        do
        :: t < THREADS -> run Thread(m, m + 1, (t == 0 -> FIRST_OPS : OPS)); m = m + 2; t++
        :: else -> break
        od;
        m = 0; b = 0; t = 0
    }
}

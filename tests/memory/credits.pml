/* The credits of a strict pool: THREADS threads acquire and release one block at a time, each with an account, and
 * change to another account, as caches do that end and begin. Checked for every interleaving of OPS operations a
 * thread:
 *   - never more than CAPACITY blocks are lent;
 *   - an acquisition is refused only if CAPACITY blocks were lent at some moment of the call;
 *   - `most` is never below the number of blocks lent, and only a number that was lent: each acquisition has a moment
 *     at which, with its own block, so many were.
 * A release may return a block that another thread acquired.
 *
 *   spin -a credits.pml && gcc -O2 -DSAFETY -o pan pan.c && ./pan -m100000
 *
 * Faults that the search must find: with -DFOLDED the count of an account that ends is moved to a common one, with
 * -DOLD_SUM an acquisition is refused without adding up again, with -DSUM_FIRST the returned blocks are added up before
 * the acquired ones are read, and with -DUNCONDITIONAL an acquisition is counted even if others came between.
 */
#ifndef THREADS
#define THREADS 2
#endif
#ifndef CAPACITY
#define CAPACITY 1
#endif
#ifndef OPS
#define OPS 3
#endif
#define ACCOUNTS (THREADS + 1)

short acquired = 0;
short returned[ACCOUNTS];
short elsewhere[ACCOUNTS]; /* in all other accounts, when they were last added up */
short most = 0;
byte opened = 0;
bool taken[ACCOUNTS];
#ifdef FOLDED
short gone = 0;
#endif

/* Not of the pool: what is true, to compare with. */
short lent = 0;
short out = 0;            /* blocks that users hold */
short least[THREADS];     /* lent at least and at most since this thread read `acquired` */
short greatest[THREADS];
short in_call[THREADS];   /* lent at most since its call began */
byte id;

#define NOTE(id)                                                                     \
    id = 0;                                                                          \
    do                                                                               \
    :: id < THREADS ->                                                               \
        if :: lent < least[id] -> least[id] = lent :: else fi;                       \
        if :: lent > greatest[id] -> greatest[id] = lent :: else fi;                 \
        if :: lent > in_call[id] -> in_call[id] = lent :: else fi;                   \
        id++                                                                         \
    :: else -> id = 0; break                                                         \
    od

#define OPEN(mine)                                                                   \
    mine = 0;                                                                        \
    do                                                                               \
    :: mine < opened && taken[mine] -> mine++                                        \
    :: mine < opened && !taken[mine] -> break                                        \
    :: mine == opened -> opened++; break                                             \
    od;                                                                              \
    taken[mine] = true

#ifdef FOLDED
#define ADD_GONE sum = sum + gone
#else
#define ADD_GONE skip
#endif

/* One account in each step. */
#define ADD_UP                                                                       \
    known = opened;                                                                  \
    sum = 0; i = 0;                                                                  \
    do                                                                               \
    :: i < known -> sum = sum + returned[i]; i++                                     \
    :: else -> i = 0; known = 0; break                                               \
    od;                                                                              \
    ADD_GONE

proctype Thread(byte me) {
    byte mine, i, known;
    short seen, now_lent, sum, most_seen;
    byte done = 0;
    atomic { OPEN(mine) };

    do
    :: done == OPS -> break
    :: done < OPS ->
        done++;
        if
        :: true -> /* acquire */
            in_call[me] = lent;
again:
#ifdef SUM_FIRST
            ADD_UP;
            elsewhere[mine] = sum - returned[mine];
            sum = 0;
#endif
            atomic { seen = acquired; least[me] = lent; greatest[me] = lent };
            most_seen = most;
            now_lent = seen + 1 - returned[mine] - elsewhere[mine];
            if
            :: now_lent > most_seen ->
#ifndef SUM_FIRST
#ifdef OLD_SUM
                if
                :: now_lent > CAPACITY -> assert(in_call[me] >= CAPACITY)
                :: else
                fi;
#endif
                ADD_UP;
                d_step {
                    elsewhere[mine] = sum - returned[mine];
                    now_lent = seen + 1 - sum;
                    sum = 0
                };
#endif
                if
                :: now_lent > CAPACITY -> assert(in_call[me] >= CAPACITY); goto finished
                :: else
                fi
            :: else
            fi;
            if
#ifdef UNCONDITIONAL
            :: atomic { true ->
#else
            :: atomic { acquired != seen -> goto again }
            :: atomic { acquired == seen ->
#endif
                   acquired++;
                   if
                   :: now_lent > most_seen -> assert(least[me] < now_lent && now_lent <= greatest[me] + 1)
                   :: else
                   fi;
                   lent++; out++;
                   assert(lent <= CAPACITY);
                   NOTE(id);
                   seen = lent
               }
            fi;
            d_step {
                if
                :: now_lent > most -> most = now_lent
                :: else
                fi;
                assert(most >= seen)
            };
finished:
            atomic { seen = 0; now_lent = 0; most_seen = 0; least[me] = 0; greatest[me] = 0; in_call[me] = 0 }
        :: atomic { out > 0 -> out-- }; /* release: any block that is out */
            atomic { returned[mine]++; lent--; NOTE(id) }
        :: atomic { /* the cache ends, and another begins */
#ifndef FOLDED
               taken[mine] = false;
               if
               :: true -> OPEN(mine)
               :: mine + 1 < ACCOUNTS && !taken[mine + 1] && mine + 1 < opened -> mine++; taken[mine] = true
               :: mine + 1 == opened && opened < ACCOUNTS -> mine = opened; opened++; taken[mine] = true
               fi
           }
#else
               gone = gone + returned[mine] };
           atomic { elsewhere[mine] = elsewhere[mine] + returned[mine]; returned[mine] = 0 }
#endif
        fi
    od;
    taken[mine] = false
}

init {
    byte t = 0;
    atomic {
        do
        :: t < THREADS -> run Thread(t); t++
        :: else -> t = 0; break
        od
    }
}

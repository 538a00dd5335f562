/* The credits of a strict pool: THREADS threads acquire and release one block at a time, each with an account, and
 * change to another account, as caches do that end and begin. Checked for every interleaving of OPS operations a
 * thread:
 *   - never more than CAPACITY blocks are on loan;
 *   - an acquisition is refused only if CAPACITY blocks were on loan at some moment of the call;
 *   - `most` is never below the number of blocks on loan, and only a number that was on loan: each acquisition has a
 *     moment at which, with its own block, so many were.
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
bool claimed[ACCOUNTS];
#ifdef FOLDED
short gone = 0;
#endif

/* Not of the pool: what is true, to compare with. */
short on_loan = 0;
short out = 0;            /* blocks that users hold */
short least[THREADS];     /* on loan at least and at most since this thread read `acquired` */
short greatest[THREADS];
short in_call[THREADS];   /* on loan at most since its call began */
byte id;

#define NOTE(id)                                                                     \
    id = 0;                                                                          \
    do                                                                               \
    :: id < THREADS ->                                                               \
        if :: on_loan < least[id] -> least[id] = on_loan :: else fi;                 \
        if :: on_loan > greatest[id] -> greatest[id] = on_loan :: else fi;           \
        if :: on_loan > in_call[id] -> in_call[id] = on_loan :: else fi;             \
        id++                                                                         \
    :: else -> id = 0; break                                                         \
    od

#define OPEN(mine)                                                                   \
    mine = 0;                                                                        \
    do                                                                               \
    :: mine < opened && claimed[mine] -> mine++                                      \
    :: mine < opened && !claimed[mine] -> break                                      \
    :: mine == opened -> opened++; break                                             \
    od;                                                                              \
    claimed[mine] = true

#ifdef FOLDED
#define ADD_GONE sum = sum + gone
#else
#define ADD_GONE skip
#endif

/* Adds up all accounts, one in each step. */
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
    short seen, now_on_loan, sum, most_seen;
    byte done = 0;
    atomic { OPEN(mine) };

    do
    :: done == OPS -> break
    :: done < OPS ->
        done++;
        if
        :: true -> /* acquire */
            in_call[me] = on_loan;
again:
#ifdef SUM_FIRST
            ADD_UP;
            elsewhere[mine] = sum - returned[mine];
            sum = 0;
#endif
            atomic { seen = acquired; least[me] = on_loan; greatest[me] = on_loan };
            most_seen = most;
            now_on_loan = seen + 1 - returned[mine] - elsewhere[mine];
            if
            :: now_on_loan > most_seen ->
#ifndef SUM_FIRST
#ifdef OLD_SUM
                if
                :: now_on_loan > CAPACITY -> assert(in_call[me] >= CAPACITY)
                :: else
                fi;
#endif
                ADD_UP;
                d_step {
                    elsewhere[mine] = sum - returned[mine];
                    now_on_loan = seen + 1 - sum;
                    sum = 0
                };
#endif
                if
                :: now_on_loan > CAPACITY -> assert(in_call[me] >= CAPACITY); goto finished
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
                   :: now_on_loan > most_seen -> assert(least[me] < now_on_loan && now_on_loan <= greatest[me] + 1)
                   :: else
                   fi;
                   on_loan++; out++;
                   assert(on_loan <= CAPACITY);
                   NOTE(id);
                   seen = on_loan
               }
            fi;
            d_step {
                if
                :: now_on_loan > most -> most = now_on_loan
                :: else
                fi;
                assert(most >= seen)
            };
finished:
            atomic { seen = 0; now_on_loan = 0; most_seen = 0; least[me] = 0; greatest[me] = 0; in_call[me] = 0 }
        :: atomic { out > 0 -> out-- }; /* release: any block that is out */
            atomic { returned[mine]++; on_loan--; NOTE(id) }
        :: atomic { /* the cache ends, and another begins */
#ifndef FOLDED
               claimed[mine] = false;
               if
               :: true -> OPEN(mine)
               :: mine + 1 < ACCOUNTS && !claimed[mine + 1] && mine + 1 < opened -> mine++; claimed[mine] = true
               :: mine + 1 == opened && opened < ACCOUNTS -> mine = opened; opened++; claimed[mine] = true
               fi
           }
#else
               gone = gone + returned[mine] };
           atomic { elsewhere[mine] = elsewhere[mine] + returned[mine]; returned[mine] = 0 }
#endif
        fi
    od;
    claimed[mine] = false
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

/** Random integers below a bound, from a seed; xorshift32. */
export type Random = (below: number) => number;

export function randomFrom(seed: number): Random {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

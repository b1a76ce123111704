/** Repeatable random numbers for the demonstration data. */

/** A linear congruential generator modulo 2^32 with Knuth's constants; values from 0 to 1, without 1. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

export function pick<T>(items: readonly T[], random: () => number): T {
  const item = items[Math.floor(random() * items.length)]
  if (item === undefined) throw new Error('pick() needs at least one item')
  return item
}

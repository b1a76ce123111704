/**
 * Looks for inputs on which a scanner takes longer than in proportion to their length: `node fuzz/linear-time.ts [minutes] [seed]`.
 * test/lib/linear-time.test.ts attacks the same scanners with each token alone; this repeats mixtures of them, up to half a megabyte.
 */
import { attacks, findSlow } from '../test/support/linear-time.ts'
import { SCANNERS } from '../test/support/scanners/scanners.ts'

const minutes = Number(process.argv[2] ?? 10)
const seed = Number(process.argv[3] ?? Date.now() % 2 ** 31)
const end = Date.now() + minutes * 60_000
const LONGEST = 524_288
let count = 0
let slow = 0

console.log(`fuzzing for ${minutes} minutes, seed ${seed}`)
for (const random = randomNumbers(seed); Date.now() < end; )
  for (const scanner of SCANNERS) {
    // What a request's head may have stays as it is.
    const longer = scanner.most < 32_768 ? scanner : { ...scanner, most: LONGEST }
    for (const attack of attacks(longer, random)) {
      if (Date.now() >= end) break
      count++
      const found = await findSlow(longer, attack)
      if (found === undefined) continue
      slow++
      console.log(`${found.scanner}: ${Math.round(found.milliseconds)} ms for ${found.input}`)
    }
  }
console.log(`${count} attacks, ${slow} of them too slow`)
process.exitCode = slow === 0 ? 0 : 1

/** The generator mulberry32. */
function randomNumbers(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

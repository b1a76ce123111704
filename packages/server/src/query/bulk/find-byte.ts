/** Finds bytes that may be next to each other, or megabytes apart. */

/** As many are looked at one by one: a search by Node costs as much as that, but its bytes cost a tenth. */
const NEAR = 64

/** The place of the next such byte; `end` if there is none. */
export function findByte(bytes: Buffer, wanted: number, start: number, end: number): number {
  const near = Math.min(start + NEAR, end)
  for (let at = start; at < near; at++) if (bytes[at] === wanted) return at
  if (near >= end) return end
  // Not from all bytes: behind the end the search could go on for megabytes.
  const found = bytes.subarray(near, end).indexOf(wanted)
  return found === -1 ? end : near + found
}

export function countBytes(bytes: Buffer, wanted: number, start: number, end: number): number {
  let count = 0
  for (let at = findByte(bytes, wanted, start, end); at < end; at = findByte(bytes, wanted, at + 1, end)) count++
  return count
}

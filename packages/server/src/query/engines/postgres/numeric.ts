/** numeric in PostgreSQL's binary format: groups of four decimal digits. */

const GROUP = 10_000n
const POSITIVE = 0
const NEGATIVE = 0x4000

/** Writes a number without its point, and returns how many bytes it takes. */
export function numericBytes(unscaled: bigint, scale: number, target: Buffer, at: number): number {
  const isNegative = unscaled < 0n
  const missing = (4 - (scale % 4)) % 4
  let rest = (isNegative ? -unscaled : unscaled) * 10n ** BigInt(missing)
  const groups: number[] = []
  // In doubles as soon as they are exact.
  for (; rest > 0x1f_ffff_ffff_ffffn; rest /= GROUP) groups.push(Number(rest % GROUP))
  for (let number = Number(rest); number > 0; number = Math.floor(number / 10_000)) groups.push(number % 10_000)
  const fractionGroups = (scale + missing) / 4
  let dropped = 0
  while (dropped < groups.length && groups[dropped] === 0) dropped++
  target.writeInt16BE(groups.length - dropped, at)
  target.writeInt16BE(groups.length === 0 ? 0 : groups.length - fractionGroups - 1, at + 2)
  target.writeUInt16BE(isNegative ? NEGATIVE : POSITIVE, at + 4)
  target.writeInt16BE(scale, at + 6)
  let end = at + 8
  for (let index = groups.length - 1; index >= dropped; index--) end = target.writeInt16BE(groups[index] ?? 0, end)
  return end - at
}

/** SQLite's integers of variable length: seven bits in a byte, the highest first. */

/** The bytes of a value below 2⁵³. */
export function varintBytes(value: number): number {
  if (value < 0x80) return 1
  if (value < 0x4000) return 2
  if (value < 0x20_0000) return 3
  if (value < 0x1000_0000) return 4
  return 4 + varintBytes(Math.floor(value / 0x1000_0000))
}

/** Returns where it ends. */
export function writeVarint(target: Buffer, at: number, value: number): number {
  if (value < 0x80) {
    target[at] = value
    return at + 1
  }
  const end = at + varintBytes(value)
  target[end - 1] = value % 0x80
  let rest = Math.floor(value / 0x80)
  for (let index = end - 2; index >= at; index--) {
    target[index] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  return end
}

/** QR codes (ISO/IEC 18004) as inline SVG: byte mode, error correction M, versions 1 to 10, which is ample for an otpauth address. */
import { type Html, html } from './html.ts'

/** For each version: codewords in all, error correction codewords in each block, and the number of blocks (level M). */
const VERSIONS: readonly { total: number; ecc: number; blocks: number; centres: readonly number[] }[] = [
  { total: 26, ecc: 10, blocks: 1, centres: [] },
  { total: 44, ecc: 16, blocks: 1, centres: [6, 18] },
  { total: 70, ecc: 26, blocks: 1, centres: [6, 22] },
  { total: 100, ecc: 18, blocks: 2, centres: [6, 26] },
  { total: 134, ecc: 24, blocks: 2, centres: [6, 30] },
  { total: 172, ecc: 16, blocks: 4, centres: [6, 34] },
  { total: 196, ecc: 18, blocks: 4, centres: [6, 22, 38] },
  { total: 242, ecc: 22, blocks: 4, centres: [6, 24, 42] },
  { total: 292, ecc: 22, blocks: 5, centres: [6, 26, 46] },
  { total: 346, ecc: 26, blocks: 5, centres: [6, 28, 50] },
]

type Grid = (boolean | undefined)[][]

export function qrSvg(text: string, label: string): Html {
  const grid = qrGrid(Buffer.from(text))
  const edge = grid.length + 8
  const path = grid
    .flatMap((row, y) => row.map((dark, x) => (dark === true ? `M${x + 4} ${y + 4}h1v1h-1z` : '')))
    .join('')
  return html`<svg class="qr" role="img" aria-label="${label}" viewBox="0 0 ${edge} ${edge}" shape-rendering="crispEdges"><path fill="#000" d="${path}"/></svg>`
}

/** True where the picture is dark. */
export function qrGrid(data: Buffer): boolean[][] {
  const version = VERSIONS.findIndex((_, index) => data.length <= capacity(index)) + 1
  if (version === 0) throw new Error(`${data.length} bytes do not fit into a QR code of version 10`)
  const bits = interleave(encode(data, version), version)
  const candidates = Array.from({ length: 8 }, (_, mask) => draw(bits, version, mask))
  const best = candidates.reduce((a, b) => (penalty(b) < penalty(a) ? b : a))
  return best
}

function capacity(index: number): number {
  return dataCodewords(index) - (index + 1 < 10 ? 2 : 3)
}

function dataCodewords(index: number): number {
  const { total, ecc, blocks } = VERSIONS[index] ?? { total: 0, ecc: 0, blocks: 0 }
  return total - ecc * blocks
}

/** Mode, length, bytes, then the two padding bytes in turn. */
function encode(data: Buffer, version: number): number[] {
  const size = dataCodewords(version - 1)
  let bits = `0100${data.length.toString(2).padStart(version < 10 ? 8 : 16, '0')}`
  for (const byte of data) bits += byte.toString(2).padStart(8, '0')
  bits = `${bits}0000`.slice(0, size * 8)
  const words = (bits.match(/.{1,8}/g) ?? []).map((word) => Number.parseInt(word.padEnd(8, '0'), 2))
  for (let pad = 0xec; words.length < size; pad ^= 0xec ^ 0x11) words.push(pad)
  return words
}

/** Blocks differ by one codeword at most, the shorter first; data and correction are each taken column by column. */
function interleave(words: readonly number[], version: number): boolean[] {
  const { ecc, blocks } = VERSIONS[version - 1] ?? { ecc: 0, blocks: 1 }
  const short = Math.floor(words.length / blocks)
  const longer = words.length % blocks
  let start = 0
  const parts = Array.from({ length: blocks }, (_, index) => {
    const end = start + short + (index >= blocks - longer ? 1 : 0)
    const part = words.slice(start, end)
    start = end
    return { data: part, check: remainder(part, ecc) }
  })
  const mixed: number[] = []
  for (let i = 0; i <= short; i++) for (const { data } of parts) if (data[i] !== undefined) mixed.push(data[i] ?? 0)
  for (let i = 0; i < ecc; i++) for (const { check } of parts) mixed.push(check[i] ?? 0)
  return mixed.flatMap((word) => Array.from({ length: 8 }, (_, bit) => ((word >> (7 - bit)) & 1) === 1))
}

/** Reed and Solomon over GF(256) with the polynomial x⁸+x⁴+x³+x²+1. */
function remainder(data: readonly number[], degree: number): number[] {
  let generator = [1]
  for (let power = 0; power < degree; power++) {
    const root = exponent(power)
    const next = [...generator, 0]
    for (const [index, value] of generator.entries()) next[index + 1] = (next[index + 1] ?? 0) ^ times(value, root)
    generator = next
  }
  const rest = Array<number>(degree).fill(0)
  for (const word of data) {
    const factor = word ^ (rest.shift() ?? 0)
    rest.push(0)
    for (let i = 0; i < degree; i++) rest[i] = (rest[i] ?? 0) ^ times(generator[i + 1] ?? 0, factor)
  }
  return rest
}

function times(a: number, b: number): number {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >> 7) * 0x11d)
    product ^= ((b >> bit) & 1) * a
  }
  return product
}

function exponent(power: number): number {
  let value = 1
  for (let i = 0; i < power; i++) value = times(value, 2)
  return value
}

function draw(bits: readonly boolean[], version: number, mask: number): boolean[][] {
  const edge = 17 + version * 4
  const grid: Grid = Array.from({ length: edge }, () => Array<boolean | undefined>(edge).fill(undefined))
  drawPatterns(grid, version)
  drawFormat(grid, mask)
  if (version >= 7) drawVersion(grid, version)
  fill(grid, bits, mask)
  return grid.map((row) => row.map((dark) => dark === true))
}

function drawPatterns(grid: Grid, version: number): void {
  const edge = grid.length
  for (const [x, y] of [
    [3, 3],
    [edge - 4, 3],
    [3, edge - 4],
  ] as const) {
    ring(grid, x, y, 4, (distance) => distance !== 2 && distance !== 4)
  }
  const centres = VERSIONS[version - 1]?.centres ?? []
  for (const x of centres) {
    for (const y of centres) {
      // Three corners belong to the finders.
      if ((x === 6 && (y === 6 || y === edge - 7)) || (x === edge - 7 && y === 6)) continue
      ring(grid, x, y, 2, (distance) => distance !== 1)
    }
  }
  for (let i = 0; i < edge; i++) {
    for (const [x, y] of [
      [i, 6],
      [6, i],
    ] as const)
      if (grid[y]?.[x] === undefined) set(grid, x, y, i % 2 === 0)
  }
}

function ring(grid: Grid, x: number, y: number, radius: number, dark: (distance: number) => boolean): void {
  for (let dy = -radius; dy <= radius; dy++) {
    for (let dx = -radius; dx <= radius; dx++) set(grid, x + dx, y + dy, dark(Math.max(Math.abs(dx), Math.abs(dy))))
  }
}

/** Level M and the mask, protected by a BCH code, in two places; and the one module that is always dark. */
function drawFormat(grid: Grid, mask: number): void {
  const edge = grid.length
  let rest = mask
  for (let i = 0; i < 10; i++) rest = (rest << 1) ^ ((rest >> 9) * 0x537)
  const bits = ((mask << 10) | rest) ^ 0x5412
  const bit = (index: number) => ((bits >> index) & 1) === 1
  for (let i = 0; i <= 5; i++) set(grid, 8, i, bit(i))
  set(grid, 8, 7, bit(6))
  set(grid, 8, 8, bit(7))
  set(grid, 7, 8, bit(8))
  for (let i = 9; i < 15; i++) set(grid, 14 - i, 8, bit(i))
  for (let i = 0; i < 8; i++) set(grid, edge - 1 - i, 8, bit(i))
  for (let i = 8; i < 15; i++) set(grid, 8, edge - 15 + i, bit(i))
  set(grid, 8, edge - 8, true)
}

function drawVersion(grid: Grid, version: number): void {
  let rest = version
  for (let i = 0; i < 12; i++) rest = (rest << 1) ^ ((rest >> 11) * 0x1f25)
  const bits = (version << 12) | rest
  for (let i = 0; i < 18; i++) {
    const dark = ((bits >> i) & 1) === 1
    const a = grid.length - 11 + (i % 3)
    const b = Math.floor(i / 3)
    set(grid, a, b, dark)
    set(grid, b, a, dark)
  }
}

const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
]

/** Up and down in columns two wide, from the right, around what is already there. */
function fill(grid: Grid, bits: readonly boolean[], mask: number): void {
  const edge = grid.length
  const masked = MASKS[mask] ?? (() => false)
  let index = 0
  for (let right = edge - 1; right >= 1; right -= 2) {
    const column = right <= 6 ? right - 1 : right
    const upward = ((edge - 1 - right) / 2) % 2 === 0
    for (let step = 0; step < edge; step++) {
      const y = upward ? edge - 1 - step : step
      for (const x of [column, column - 1]) {
        if (grid[y]?.[x] === undefined) set(grid, x, y, (bits[index++] ?? false) !== masked(x, y))
      }
    }
  }
}

function set(grid: Grid, x: number, y: number, dark: boolean): void {
  const row = grid[y]
  if (row !== undefined && x >= 0 && x < row.length) row[x] = dark
}

/** Long runs, blocks, false finders and an uneven balance make a picture hard to read. */
function penalty(grid: readonly (readonly boolean[])[]): number {
  const edge = grid.length
  const at = (x: number, y: number) => grid[y]?.[x] === true
  const lines = grid.flatMap((row, i) => [row, row.map((_, j) => at(i, j))]).map((line) => line.map(Number).join(''))
  let sum = 0
  for (const line of lines) {
    for (const [run] of line.matchAll(/0{5,}|1{5,}/g)) sum += run.length - 2
    for (const finder of ['10111010000', '00001011101']) {
      for (let i = line.indexOf(finder); i >= 0; i = line.indexOf(finder, i + 1)) sum += 40
    }
  }
  let dark = 0
  for (let y = 0; y < edge; y++) {
    for (let x = 0; x < edge; x++) {
      if (at(x, y)) dark++
      if (
        x + 1 < edge &&
        y + 1 < edge &&
        at(x, y) === at(x + 1, y) &&
        at(x, y) === at(x, y + 1) &&
        at(x, y) === at(x + 1, y + 1)
      )
        sum += 3
    }
  }
  return sum + Math.floor(Math.abs((dark * 20) / (edge * edge) - 10)) * 10
}

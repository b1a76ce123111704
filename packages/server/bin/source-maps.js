// Part of the bundle only: gives stack traces the names and lines of the sources. A map is read when a stack trace that needs it
// is first read, and only as far as the trace needs: Node's own way reads all of them at the start, and its SourceMap takes half a
// second and 60 MiB for that of a server.
import { readFileSync } from 'node:fs'

/** The folder of the bundle. */
const dist = new URL('.', import.meta.url).href
const PLACE = new RegExp(`${RegExp.escape(dist)}([\\w.-]+\\.js):(\\d+):(\\d+)`, 'g')
/** The error of a report of the process. better-sqlite3 makes one at the start, to find out which C library there is. */
const REPORT = 'ERR_SYNTHETIC'
const maps = new Map()
const format = Error.prepareStackTrace

Error.prepareStackTrace = (error, callSites) => {
  const text = format(error, callSites)
  return error?.code === REPORT ? text : withSources(text)
}

function withSources(text) {
  const found = new Map()
  for (const [file, places] of Map.groupBy(text.matchAll(PLACE), ([, name]) => name)) {
    const map = findMap(file)
    if (map !== undefined) findAll(map, places.map(toPosition).sort(compare), found)
  }
  return found.size === 0 ? text : text.replace(PLACE, (place) => found.get(place) ?? place)
}

/** From 0, as maps count. */
function toPosition([place, , line, column]) {
  return { place, line: Number(line) - 1, column: Number(column) - 1 }
}

function compare(left, right) {
  return left.line - right.line || left.column - right.column
}

/**
 * Adds the place in its source for each position; these are sorted. The segments of a map are differences to the one before, so they
 * are read from the start. The place of a position is that of the last segment in its line that does not begin behind it.
 */
function findAll({ mappings, sources }, positions, found) {
  const reader = { mappings, at: 0 }
  let [line, column, source, sourceLine, sourceColumn] = [0, 0, 0, 0, 0]
  /** The line of the last segment that has a place. */
  let placedLine = -1
  let next = 0
  const settleBefore = (nextLine, nextColumn) => {
    for (; next < positions.length; next++) {
      const position = positions[next]
      if (position.line > nextLine || (position.line === nextLine && position.column >= nextColumn)) return
      if (position.line === placedLine)
        found.set(position.place, `${new URL(sources[source], dist).href}:${sourceLine + 1}:${sourceColumn + 1}`)
    }
  }
  while (reader.at < mappings.length && next < positions.length) {
    const code = mappings.charCodeAt(reader.at)
    if (code === SEMICOLON) {
      line++
      column = 0
      reader.at++
    } else if (code === COMMA) reader.at++
    else {
      column += readNumber(reader)
      if (line >= positions[next].line) settleBefore(line, column)
      if (isEnd(reader)) continue
      source += readNumber(reader)
      sourceLine += readNumber(reader)
      sourceColumn += readNumber(reader)
      if (!isEnd(reader)) readNumber(reader)
      placedLine = line
    }
  }
  settleBefore(Number.POSITIVE_INFINITY, 0)
}

const [SEMICOLON, COMMA] = [0x3b, 0x2c]

function isEnd({ mappings, at }) {
  const code = mappings.charCodeAt(at)
  return Number.isNaN(code) || code === SEMICOLON || code === COMMA
}

const DIGITS = new Uint8Array(128)
for (const [value, digit] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries())
  DIGITS[digit.charCodeAt(0)] = value

/** Base64 VLQ: five bits in a digit, the lowest ones first; the sixth bit says that another follows. The lowest bit of all is the sign. */
function readNumber(reader) {
  let bits = 0
  for (let shift = 0; ; shift += 5) {
    const digit = DIGITS[reader.mappings.charCodeAt(reader.at++)]
    bits |= (digit & 31) << shift
    if (digit < 32) return bits & 1 ? -(bits >>> 1) : bits >>> 1
  }
}

function findMap(file) {
  if (!maps.has(file)) maps.set(file, readMap(file))
  return maps.get(file)
}

/** Undefined if there is none: the place in the bundle is better than none. */
function readMap(file) {
  try {
    return JSON.parse(readFileSync(new URL(`${file}.map`, dist), 'utf8'))
  } catch {
    return undefined
  }
}

// Part of the bundle only: gives stack traces the names and lines of the sources. A map is read when a stack trace that needs it
// is first read; Node's own way would read all of them at the start.
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'

/** The folder of the bundle. */
const dist = new URL('.', import.meta.url).href
const PLACE = new RegExp(`${RegExp.escape(dist)}([\\w.-]+\\.js):(\\d+):(\\d+)`, 'g')
/** The error of a report of the process. better-sqlite3 makes one at the start, to find out which C library there is. */
const REPORT = 'ERR_SYNTHETIC'
const maps = new Map()
const format = Error.prepareStackTrace

Error.prepareStackTrace = (error, callSites) => {
  const text = format(error, callSites)
  return error?.code === REPORT ? text : text.replace(PLACE, placeInSource)
}

function placeInSource(place, file, line, column) {
  const found = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1)
  if (found?.originalSource === undefined) return place
  return `${new URL(found.originalSource, dist).href}:${found.originalLine + 1}:${found.originalColumn + 1}`
}

function mapOf(file) {
  if (!maps.has(file)) maps.set(file, readMap(file))
  return maps.get(file)
}

/** Undefined if there is none: the place in the bundle is better than none. */
function readMap(file) {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${file}.map`, dist), 'utf8')))
  } catch {
    return undefined
  }
}

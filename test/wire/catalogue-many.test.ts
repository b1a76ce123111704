/** `\d t` of psql in a catalogue of 5,000 tables: time and memory. Prints the figures. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { CorpusLine } from '../../scripts/tools/corpus-file.ts'
import { buildTable, createCaller, demoTables, readRows, useCatalogue } from './catalogue-place.ts'

const TABLES = 5_000
const COLUMNS = 12
/** Half of the limit of a process. */
const MOST_MIB = 128
/** The machine that runs the tests may be busy: on a quiet one the targets are 50 ms, and 500 ms for the first one. */
const MOST_MS = 250
const MOST_FIRST_MS = 5_000

/** What psql 15 sends for `\d trades`, with the ids of this catalogue. */
function describeTable(oid: string): string[] {
  const lines: CorpusLine[] = readFileSync(new URL('./corpus/psql-15.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const texts = lines.map(({ text }) => text)
  return [
    ...texts.filter((text) => text.includes("'^(trades)$'") && text.includes('c.relname,') === false).slice(0, 1),
    ...texts.filter((text) => text.includes("'16393'")),
  ].map((text) => text.replaceAll('16393', oid))
}

test(`\\d t among ${TABLES} tables`, async () => {
  const columns = Array.from({ length: COLUMNS }, (_none, index) => ({
    name: `column_${index}`,
    type: index % 2 === 0 ? 'Text' : 'Decimal(18, 4)',
  }))
  const many = Array.from({ length: TABLES }, (_none, index) =>
    buildTable(index + 10, `table_${index}`, columns, {
      indexes: [{ name: `index_${index}`, unique: false, columns: [{ name: 'column_1', descending: false }] }],
    }),
  )
  const caller = createCaller([...demoTables(), ...many])
  const started = useCatalogue()
  const began = performance.now()
  const [[oid] = []] = await readRows(
    started,
    caller,
    "SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relname OPERATOR(pg_catalog.~) '^(trades)$' AND pg_catalog.pg_table_is_visible(c.oid)",
  )
  const statements = describeTable(String(oid))
  assert.ok(statements.length >= 8, `${statements.length} statements`)
  for (const text of statements) await readRows(started, caller, text)
  const first = performance.now() - began
  const times: number[] = []
  for (let count = 0; count < 20; count++) {
    const from = performance.now()
    for (const text of statements) await readRows(started, caller, text)
    times.push(performance.now() - from)
  }
  const median = times.toSorted((a, b) => a - b)[10] ?? 0
  const resident = residentMib()
  console.log(
    `\\d t among ${TABLES} tables: first ${Math.round(first)} ms, then ${median.toFixed(1)} ms, ${Math.round(resident)} MiB`,
  )
  assert.ok(first < MOST_FIRST_MS, `the first takes ${first} ms`)
  assert.ok(median < MOST_MS, `${median} ms`)
  assert.ok(resident < MOST_MIB, `${resident} MiB`)
})

/** Of the catalogue's process. */
function residentMib(): number {
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const parent = Number(readFileSync(`/proc/${entry}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[1])
      const isOurs =
        parent === process.pid && readFileSync(`/proc/${entry}/cmdline`, 'latin1').includes('catalogue-process-main')
      if (isOurs) return Number(/^RssAnon:\s*(\d+)/m.exec(readFileSync(`/proc/${entry}/status`, 'latin1'))?.[1]) / 1024
    } catch {
      // It has just ended.
    }
  }
  return Number.NaN
}

/** The corpus over tables with columns: every statement has the result that the rows have, with segments of two rows. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { IS_LONG_RUN, openPlace } from '../../support/engines.ts'
import { ask, readCorpus } from '../corpus.ts'
import { startQueryServer } from '../query-server.ts'
import { BY_THE_TEST, writeSegments } from './written-segments.ts'

const folder = new URL('../corpus/', import.meta.url)
/** Those with the most groupings. */
const SHORT = ['market.txt', 'statistics.txt']
const files = IS_LONG_RUN ? readdirSync(folder).filter((name) => name.endsWith('.txt')) : SHORT
const SEGMENT_ROWS = 2

for (const file of files)
  test(`${file}: every statement has the expected result`, async () => {
    const { place, leave } = await openPlace('sqlite')
    const server = await startQueryServer(place, { columnTiming: BY_THE_TEST })
    const faults: string[] = []
    let [isWritten, read] = [true, 0]
    try {
      for (const { line, statement, expected } of readCorpus(readFileSync(new URL(file, folder), 'utf8'))) {
        if (statement === '') continue
        const isRead = /^(?:SELECT|WITH|EXPLAIN|VALUES|TABLE|DESCRIBE|SHOW)\b/.test(statement)
        if (isRead && isWritten) writeSegments(place.dataFolder, SEGMENT_ROWS)
        isWritten = !isRead
        const { lines } = await ask(server, withColumns(statement))
        if (await readsSegments(statement)) read++
        const got = lines.filter((text) => !text.startsWith('"columns: ')).join('\n')
        const wanted = expected.join('\n')
        if (wanted === '' ? got.startsWith('!') : got !== wanted)
          faults.push(`line ${line}: ${statement}\n  expected ${wanted}\n  got ${got}`)
      }
    } finally {
      await server.stop()
      await leave()
    }
    assert.deepEqual(faults, [])
    if (SHORT.includes(file)) assert.ok(read >= 8, `${read} statements read segments`)

    async function readsSegments(statement: string): Promise<boolean> {
      if (!/^SELECT.* FROM /s.test(statement)) return false
      const { lines } = await ask(server, `EXPLAIN ${statement}`)
      return lines.some((text) => /^"columns: \d+ segment/.test(text))
    }
  })

function withColumns(statement: string): string {
  const canHaveColumns = /^CREATE TABLE\b.*\(/s.test(statement) && !/ (?:WITH \(|AS (?:SELECT|WITH)\b)/.test(statement)
  return canHaveColumns ? `${statement} WITH (columns = on)` : statement
}

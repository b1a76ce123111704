/** Tables promise: every metric is counted and every audit event recorded somewhere in the program. */
import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { AUDIT_EVENTS } from '../src/protocol/audit-events.ts'
import { METRICS } from '../src/protocol/metric-table.ts'

const root = new URL('../src/', import.meta.url)

for (const [what, table, own] of [
  ['metric', METRICS, 'protocol/metric-table.ts'],
  ['audit event', AUDIT_EVENTS, 'protocol/audit-events.ts'],
] as const) {
  test(`every ${what} of the table is used`, async () => {
    const texts: string[] = []
    for await (const file of glob('**/*.ts', { cwd: root.pathname })) {
      if (file !== own) texts.push(await readFile(new URL(file, root), 'utf8'))
    }
    const all = texts.join('\n')
    assert.deepEqual(
      Object.keys(table).filter((name) => !all.includes(`'${name}'`)),
      [],
    )
  })
}

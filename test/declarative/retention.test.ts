/** Retention and legal hold in the declarative file: what an absent member means, what a plan says that it deletes, and who is told. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { AuditEvent } from 'gatehouse-protocol'
import { findDeclared, reconcile } from '../../packages/server/src/declarative/reconcile.ts'
import type { Declaration } from '../../packages/server/src/declarative/shape.ts'
import { openQuery, type QueryService } from '../../packages/server/src/query/service.ts'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { openTestAudit } from '../support/audit.ts'
import { deriveKey } from '../support/derived-key.ts'
import { onEveryEngine } from '../support/engines.ts'
import { createLocalBus } from '../support/local-bus.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-declared-retention-'))
after(() => rmSync(folder, { recursive: true }))

const DAY = 86_400_000
const TICKS = {
  name: 'ticks',
  columns: [
    { name: 'at', type: 'Timestamp', primary_key: true },
    { name: 'id', type: 'Integer', primary_key: true },
  ],
}

onEveryEngine('declared retention', (place) => {
  let database: Database
  let query: QueryService
  const audited: AuditEvent[] = []
  before(async () => {
    const { dataFolder, databaseUrl } = place()
    database = await openDatabase({ dataFolder, url: databaseUrl })
    query = await openQuery({
      deriveKey,
      bus: createLocalBus(),
      clock: Date.now,
      audit: { record: (event) => void audited.push(event) },
      database: { dataFolder, databaseUrl },
      onError: (error) => assert.fail(String(error)),
    })
  })
  after(async () => {
    await query.close()
    await database.close()
  })

  async function reconciled(declaration: Declaration, isDryRun = false) {
    writeFileSync(join(folder, 'file.json'), JSON.stringify(declaration))
    const declared = await findDeclared({ config: join(folder, 'file.json'), demo: false })
    assert.ok(declared)
    const env = {
      database,
      clock: Date.now,
      environment: {},
      tables: query.tables,
      audit: openTestAudit(database),
      mail: undefined,
      digestKey: Buffer.alloc(32),
      providerKey: Buffer.alloc(32),
    }
    const changes = await reconcile(declared, env, isDryRun)
    return changes.map((change) => [
      change.action,
      change.name,
      change.what === 'table' ? change.rowsDeleted : undefined,
    ])
  }
  const find = async () => (await query.tables.list()).find(({ name }) => name === 'ticks')

  test('a plan says how many rows a retention and a removal delete', async () => {
    await reconciled({ tables: [TICKS] })
    const ago = (days: number) => new Date(Date.now() - days * DAY).toISOString()
    const rows = [90, 60, 40, 1].map((days, index) => [ago(days), String(index)])
    await query.tables.insert('ticks', ['at', 'id'], rows)
    const keeping = (time: string) => ({ tables: [{ ...TICKS, retention: { time, on: 'at' } }] })
    assert.deepEqual(await reconciled(keeping('50 days'), true), [['update', 'ticks', 2]])
    assert.deepEqual(await reconciled(keeping('30 days'), true), [['update', 'ticks', 3]])
    assert.deepEqual(await reconciled({ tables: [{ ...TICKS, description: 'Ticks' }] }, true), [
      ['update', 'ticks', undefined],
    ])
    assert.deepEqual(await reconciled({ tables: [], prune: true }, true), [['remove', 'ticks', 4]])
    assert.equal((await find())?.retention, undefined)
  })

  test('a retention that the file sets, changes and ends is audited; one that cannot be is a fault of the file', async () => {
    audited.length = 0
    const keeping = (time: string) => ({ tables: [{ ...TICKS, retention: { time, on: 'AT' } }] })
    for (const time of ['100 days', '100 days', '200 days']) await reconciled(keeping(time))
    await reconciled({ tables: [{ ...TICKS, description: 'Ticks' }] })
    await reconciled({ tables: [{ ...TICKS, description: 'All ticks' }] })
    assert.deepEqual(
      audited.map(({ event, details }) => [event, details]),
      ['100 days on at', '200 days on at', 'none'].map((retention) => [
        'query.defined',
        { statement: 'rights', table: 'ticks', retention, changed: ['retention'], source: 'file' },
      ]),
    )
    const wrong = { name: 'other', columns: [...TICKS.columns, { name: 'seen', type: 'Timestamp', nullable: false }] }
    const fault = /tables\[0\]\.retention: A retention finds its rows by an index .* write CREATE INDEX other_seen/
    const declared = { tables: [{ ...wrong, retention: { time: '1 day', on: 'seen' } }] }
    await assert.rejects(reconciled(declared, true), fault)
    await reconciled({ tables: [wrong] })
    await assert.rejects(reconciled(declared, true), fault)
    await reconciled({ tables: [TICKS], prune: true })
  })

  test('a hold that the file does not name stays; false releases; both are audited; a held table cannot be pruned', async () => {
    await reconciled({ tables: [{ ...TICKS, hold: true }] })
    assert.equal((await find())?.hold, true)
    assert.deepEqual(await reconciled({ tables: [TICKS] }), [])
    await reconciled({ tables: [{ ...TICKS, description: 'Changed' }] })
    assert.equal((await find())?.hold, true)
    await assert.rejects(reconciled({ tables: [], prune: true }, true), /ticks is held/)
    await assert.rejects(reconciled({ tables: [], prune: true }), /ticks is held/)
    await reconciled({ tables: [{ ...TICKS, hold: false }] })
    assert.equal((await find())?.hold, undefined)
    const holds = audited.filter(({ event }) => event.startsWith('table.'))
    assert.deepEqual(
      holds.map(({ event, target, details }) => [event, target, details]),
      ['table.held', 'table.released'].map((event) => [event, 'ticks', { table: 'ticks', source: 'file' }]),
    )
  })
})

/** Declared views in a real query service: created after what they use, replaced together, removed before their tables. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { BadDeclaration } from '../../packages/server/src/declarative/bad-declaration.ts'
import { findDeclared, reconcile } from '../../packages/server/src/declarative/reconcile.ts'
import type { Declaration } from '../../packages/server/src/declarative/shape.ts'
import { openQuery, type QueryService } from '../../packages/server/src/query/service.ts'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { openTestAudit } from '../support/audit.ts'
import { deriveKey } from '../support/derived-key.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { createLocalBus } from '../support/local-bus.ts'
import { until } from '../support/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-views-'))
after(() => rmSync(folder, { recursive: true }))

const TRADES = {
  name: 'trades',
  columns: [
    { name: 'id', type: 'Integer', primary_key: true },
    { name: 'symbol', type: 'Text', nullable: false },
    { name: 'price', type: 'Decimal(18,4)' },
  ],
}
const BY_SYMBOL = {
  name: 'by_symbol',
  description: 'Trades of each symbol',
  query: 'SELECT symbol, count(*) AS trades, max(price) AS highest FROM trades GROUP BY symbol',
  read_scope: 'Platform/Market',
}
/** Uses a view that comes after it in the file. */
const BUSY = { name: 'busy', columns: ['name'], query: 'SELECT symbol FROM By_Symbol WHERE trades > 1' }

onEveryEngineInLongRuns('declared views', (place) => {
  let database: Database
  let query: QueryService

  before(async () => {
    const { dataFolder, databaseUrl } = place()
    database = await openDatabase({ dataFolder, url: databaseUrl })
    query = await openQuery({
      deriveKey,
      bus: createLocalBus(),
      clock: Date.now,
      database: { dataFolder, databaseUrl },
      onError: (error) => assert.fail(String(error)),
    })
  })
  after(async () => {
    await query.close()
    await database.close()
  })

  /** The clock is that of the users. */
  async function changes(declaration: Declaration, dryRun: boolean, clock = Date.now) {
    writeFileSync(join(folder, 'file.json'), JSON.stringify(declaration))
    const declared = await findDeclared({ config: join(folder, 'file.json'), demo: false })
    assert.ok(declared)
    const env = {
      database,
      clock,
      environment: {},
      tables: query.tables,
      audit: openTestAudit(database),
      mail: undefined,
      digestKey: Buffer.alloc(32),
      providerKey: Buffer.alloc(32),
    }
    return reconcile(declared, env, dryRun)
  }

  async function applied(declaration: Declaration, dryRun = false): Promise<string[]> {
    return (await changes(declaration, dryRun)).map(({ action, what, name }) => `${action} ${what} ${name}`)
  }

  /** The faults, each in one line. Nothing is changed. */
  async function faults(declaration: Declaration): Promise<string[]> {
    const before = [await query.tables.list(), await query.tables.listViews()]
    let found: string[] = []
    await assert.rejects(applied(declaration), (error: Error) => {
      assert.ok(error instanceof BadDeclaration, String(error))
      found = error.faults.map(({ path, text }) => `${path}: ${text}`)
      return true
    })
    assert.deepEqual([await query.tables.list(), await query.tables.listViews()], before)
    return found
  }

  const views = async () => new Map((await query.tables.listViews()).map((view) => [view.name, view]))

  test('views are created after their tables and after the views that they use; a second run changes nothing', async () => {
    const declaration = { tables: [TRADES], views: [BUSY, BY_SYMBOL] }
    const expected = ['create table trades', 'create view by_symbol', 'create view busy']
    assert.deepEqual(await applied(declaration, true), expected)
    assert.deepEqual(await query.tables.listViews(), [])
    assert.deepEqual(await applied(declaration), expected)
    assert.deepEqual(await applied(declaration), [])
    const { columns, types, readScope, description } = (await views()).get('by_symbol') ?? {}
    assert.deepEqual(columns, ['symbol', 'trades', 'highest'])
    assert.deepEqual(types, ['Text NOT NULL', 'Integer NOT NULL', 'Decimal(18,4)'])
    assert.deepEqual([readScope, description], ['Platform/Market', 'Trades of each symbol'])
    assert.deepEqual((await views()).get('busy')?.columns, ['name'])
  })

  test('a changed query, scope or description replaces the view, and says what differs', async () => {
    const plain = { name: 'by_symbol', query: BY_SYMBOL.query }
    const [change] = await changes({ views: [plain] }, false)
    assert.ok(change?.action === 'update')
    assert.deepEqual(change.differences, [
      'description: "Trades of each symbol" → ""',
      'readScope: "Platform/Market" → null',
    ])
    assert.deepEqual(await applied({ views: [BY_SYMBOL] }), ['update view by_symbol'])
    const same = { ...BY_SYMBOL, query: 'select SYMBOL, count(*) trades, max(price) highest\nfrom trades group by 1;' }
    assert.deepEqual(await applied({ views: [same] }), ['update view by_symbol'])
    assert.deepEqual(await applied({ views: [BY_SYMBOL] }), ['update view by_symbol'])
  })

  test('a view and the view that uses it are replaced together, even if neither fits the former other', async () => {
    const renamed = { ...BY_SYMBOL, query: BY_SYMBOL.query.replace('AS trades', 'AS traded') }
    assert.match((await faults({ views: [renamed] })).join(), /^views: by_symbol is used by the view busy/)
    const user = { ...BUSY, query: 'SELECT symbol FROM by_symbol WHERE traded > 1' }
    assert.deepEqual(await applied({ views: [user, renamed] }), ['update view by_symbol', 'update view busy'])
    assert.deepEqual(await applied({ views: [BUSY, BY_SYMBOL] }), ['update view by_symbol', 'update view busy'])
  })

  test('faults name the entry and the position in its query', async () => {
    const bad: [view: NonNullable<Declaration['views']>[number], fault: RegExp][] = [
      [{ name: 'v', query: 'SELECT symbol,\nprise FROM trades' }, /^views\[0\]\.query: .*prise.* at line 2, column 1 /],
      [{ name: 'v', query: 'SELECT FROM trades' }, /^views\[0\]\.query: .* at line 1, column 8/],
      [{ name: 'v', query: 'DELETE FROM trades ALL' }, /^views\[0\]\.query: A view is defined by a query/],
      [
        { name: 'v', query: 'SELECT id FROM trades WHERE id = :id' },
        /^views\[0\]\.query: .*parameters at line 1, column/,
      ],
      [{ name: 'v', query: 'SELECT id FROM tradez' }, /^views\[0\]\.query: .*tradez at line 1, column 16/],
      [{ name: 'v', query: 'SELECT id FROM v' }, /^views\[0\]\.query: A view cannot use itself: v uses v$/],
      [{ name: 'v', columns: ['a', 'b'], query: 'SELECT id FROM trades' }, /^views\[0\]\.columns: v names 2 columns/],
      [
        { name: 'v', columns: ['a', 'A'], query: 'SELECT id, id FROM trades' },
        /^views\[0\]\.columns\[1\]: "A" is listed/,
      ],
      [{ name: 'Trades', query: 'SELECT 1 AS one' }, /^views\[0\]\.name: trades is a table, not a view$/],
      [{ name: 'cataloguetables', query: 'SELECT 1 AS one' }, /^views\[0\]\.name: .*is a system table$/],
      [{ name: 'sqlite_v', query: 'SELECT 1 AS one' }, /^views\[0\]\.name: .*reserved/],
      [
        { name: 'v', query: 'SELECT 1 AS one', read_scope: 'Platform/Markt' },
        /^views\[0\]\.read_scope: .*did you mean/,
      ],
    ]
    for (const [view, fault] of bad) {
      const [found = '', ...others] = await faults({ views: [view] })
      assert.match(found, fault)
      assert.deepEqual(others, [])
    }
    // Only the cause is reported, not the views that use it.
    const circle = [
      { name: 'one', query: 'SELECT id FROM three' },
      { name: 'two', query: 'SELECT id FROM one' },
      { name: 'three', query: 'SELECT id FROM two' },
    ]
    assert.deepEqual(await faults({ views: circle }), [
      'views[1].query: A view cannot use itself: one uses three uses two uses one',
    ])
    assert.match((await faults({ tables: [TRADES], views: [{ ...BUSY, name: 'TRADES' }] })).join(), /tables\[0\]/)
  })

  test('a table with a view that is not in the file cannot be pruned', async () => {
    assert.match((await faults({ prune: true, tables: [] })).join(), /^prune: trades is used by the view by_symbol/)
  })

  test('when a later step fails, created views are dropped and the others are as before', async () => {
    const before = await query.tables.listViews()
    const declaration = {
      users: [{ username: 'carol' }],
      tables: [{ ...TRADES, name: 'more' }],
      views: [
        { ...BY_SYMBOL, query: BY_SYMBOL.query.replace('FROM trades', 'FROM more') },
        { name: 'new', query: 'SELECT id FROM more' },
      ],
    }
    const stopped = () => {
      throw new Error('The clock has stopped')
    }
    await assert.rejects(changes(declaration, false, stopped), /The clock has stopped/)
    assert.deepEqual(await query.tables.listViews(), before)
    assert.deepEqual(
      (await query.tables.list()).map(({ name }) => name),
      ['trades'],
    )
  })

  test('when a later step fails, a materialized view that the file removes is as before', async () => {
    const kept = { name: 'kept', query: 'SELECT id, count(*) AS n FROM trades GROUP BY id', materialized: true }
    await applied({ views: [kept] })
    const build = async () => {
      const { created, keptState } = query.catalogue.findDefinition('kept') ?? {}
      return { created, isBuilt: keptState?.isBuilt }
    }
    await until('it is built', 10_000, async () => (await build()).isBuilt === true)
    const before = await build()
    const stopped = () => {
      throw new Error('The clock has stopped')
    }
    const removing = { prune: true, users: [{ username: 'carol' }], tables: [TRADES], views: [BY_SYMBOL, BUSY] }
    await assert.rejects(changes(removing, false, stopped), /The clock has stopped/)
    assert.deepEqual(await build(), before)
    assert.ok((await applied(removing)).includes('remove view kept'))
    assert.equal(query.catalogue.findDefinition('kept'), undefined)
    await applied({ prune: true, users: [] })
  })

  test('prune removes views before the tables that they use', async () => {
    assert.deepEqual(await applied({ prune: true, tables: [TRADES], views: [BY_SYMBOL] }), ['remove view busy'])
    assert.deepEqual(await applied({ prune: true, tables: [], views: [] }), [
      'remove view by_symbol',
      'remove table trades',
    ])
    assert.deepEqual([await query.tables.list(), await query.tables.listViews()], [[], []])
  })
})

/** Declared tables in a real query service: created with their rows, changed in place, never partly filled. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { BadDeclaration } from '../../packages/server/src/declarative/bad-declaration.ts'
import { findDeclared, reconcile } from '../../packages/server/src/declarative/reconcile.ts'
import type { Declaration } from '../../packages/server/src/declarative/shape.ts'
import { BEING_FILLED } from '../../packages/server/src/declarative/tables-port.ts'
import { openQuery, type QueryService } from '../../packages/server/src/query/service.ts'
import { type Database, openDatabase } from '../../packages/server/src/store/database/database.ts'
import { openTestAudit } from '../support/audit.ts'
import { deriveKey } from '../support/derived-key.ts'
import { onEveryEngine } from '../support/engines.ts'
import { createLocalBus } from '../support/local-bus.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-tables-'))
after(() => rmSync(folder, { recursive: true }))

const PRICES = {
  name: 'prices',
  description: 'Closing prices',
  columns: [
    { name: 'symbol', type: 'Text', primary_key: true },
    { name: 'price', type: 'Decimal(18,4)', nullable: false },
  ],
  read_scope: 'Platform/Market',
  csv: 'prices.csv',
}

const WIDER = {
  ...PRICES,
  write_scope: 'Platform/Trading',
  columns: [...PRICES.columns, { name: 'note', type: 'Text' }],
}

onEveryEngine('declared tables', (place, engine) => {
  let database: Database
  let query: QueryService
  const clock = () => Date.now()

  before(async () => {
    const { dataFolder, databaseUrl } = place()
    database = await openDatabase({ dataFolder, url: databaseUrl })
    query = await openQuery({
      deriveKey,
      bus: createLocalBus(),
      clock,
      database: { dataFolder, databaseUrl },
      onError: (error) => assert.fail(String(error)),
    })
  })
  after(async () => {
    await query.close()
    await database.close()
  })

  async function applied(declaration: Declaration): Promise<string[]> {
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
    return (await reconcile(declared, env)).map(({ action, what, name }) => `${action} ${what} ${name}`)
  }

  /** Whether the row exists: then inserting it again fails. */
  async function has(symbol: string): Promise<boolean> {
    try {
      await query.tables.insert('prices', ['symbol', 'price'], [[symbol, '1']])
      return false
    } catch {
      return true
    }
  }

  test('invalid rows are reported, and neither the table nor the users are created', async () => {
    writeFileSync(join(folder, 'prices.csv'), 'symbol,price\nBHP,45.10\nRIO,cheap\n')
    await assert.rejects(applied({ users: [{ username: 'carol' }], tables: [PRICES] }), (error: Error) => {
      assert.ok(error instanceof BadDeclaration)
      assert.equal(error.faults[0]?.path, 'tables[0].csv')
      assert.match(error.faults[0]?.text ?? '', /Row 2.*cheap/)
      return true
    })
    assert.deepEqual(await query.tables.list(), [])
    assert.deepEqual(await applied({ users: [{ username: 'carol' }] }), ['create user carol'])
  })

  test('a table that a crash left partly filled is created again', async () => {
    const target = {
      name: 'prices',
      description: BEING_FILLED,
      columns: [{ name: 'symbol', type: 'Text', primaryKey: true, nullable: false, unique: false }],
      readScope: null,
      writeScope: null,
      rowFilter: null,
      live: true,
    }
    await query.tables.create(target, [['symbol'], ['HALF']])
    writeFileSync(join(folder, 'prices.csv'), 'symbol,price\nBHP,45.10\nRIO,60\n')
    assert.deepEqual(await applied({ tables: [PRICES] }), ['create table prices'])
    const [table] = await query.tables.list()
    assert.equal(table?.description, 'Closing prices')
    assert.deepEqual([await has('BHP'), await has('RIO'), await has('HALF')], [true, true, false])
  })

  test('a second run changes nothing; scopes and new columns are changed in place', async () => {
    assert.deepEqual(await applied({ tables: [PRICES] }), [])
    assert.deepEqual(await applied({ tables: [WIDER] }), ['update table prices'])
    const [table] = await query.tables.list()
    assert.equal(table?.writeScope, 'Platform/Trading')
    assert.equal(table?.columns.at(-1)?.name, 'note')
    assert.ok(await has('BHP'))
    assert.deepEqual(await applied({ tables: [WIDER] }), [])
  })

  test('columnar is set and removed in place; PostgreSQL refuses it', async () => {
    const columnar = { ...WIDER, columnar: true }
    if (engine === 'postgres') {
      await assert.rejects(
        applied({ tables: [columnar] }),
        /prices cannot have columns = on: the database is PostgreSQL/,
      )
      return
    }
    assert.deepEqual(await applied({ tables: [columnar] }), ['update table prices'])
    assert.equal((await query.tables.list())[0]?.columnar, true)
    assert.deepEqual(await applied({ tables: [columnar] }), [])
    assert.deepEqual(await applied({ tables: [WIDER] }), ['update table prices'])
    assert.equal((await query.tables.list())[0]?.columnar, undefined)
  })

  test('live: false switches the change log of a table off, and leaving it out switches it on', async () => {
    const [before] = await query.tables.list()
    assert.equal(before?.live, true)
    const tables = [{ ...WIDER, live: false }]
    assert.deepEqual(await applied({ tables }), ['update table prices'])
    assert.equal((await query.tables.list())[0]?.live, false)
    assert.deepEqual(await applied({ tables }), [])
    assert.deepEqual(await applied({ tables: [WIDER] }), ['update table prices'])
    assert.equal((await query.tables.list())[0]?.live, true)
  })

  test('checks are declared by name; one that rows do not meet is refused, and the table keeps those that it had', async () => {
    const checked = { ...WIDER, checks: { positive: 'price > 0' } }
    assert.deepEqual(await applied({ tables: [checked] }), ['update table prices'])
    assert.deepEqual(await applied({ tables: [checked] }), [])
    await assert.rejects(query.tables.insert('prices', ['symbol', 'price'], [['FREE', '0']]), /positive: price > 0/)
    const strict = { ...WIDER, checks: { ...checked.checks, dear: 'price > 50' } }
    await assert.rejects(applied({ tables: [strict] }), /dear/)
    assert.deepEqual((await query.tables.list())[0]?.checks, checked.checks)
    await assert.rejects(applied({ tables: [{ ...WIDER, checks: { bad: 'price >' } }] }), (error: Error) => {
      assert.ok(error instanceof BadDeclaration)
      assert.equal(error.faults[0]?.path, 'tables[0].checks')
      return true
    })
    assert.deepEqual(await applied({ tables: [WIDER] }), ['update table prices'])
  })

  test('indexes of the file are made; others stay, unless the file prunes', async () => {
    const byNote = { name: 'prices_note', columns: ['note', 'price desc'] }
    const indexed = { ...WIDER, indexes: [byNote] }
    assert.deepEqual(await applied({ tables: [indexed] }), ['update table prices'])
    assert.deepEqual((await query.tables.list())[0]?.indexes, [{ ...byNote, unique: false }])
    assert.deepEqual(await applied({ tables: [indexed] }), [])
    assert.deepEqual(await applied({ tables: [WIDER] }), [])
    const other = {
      ...WIDER,
      indexes: [
        { ...byNote, columns: ['note'] },
        { name: 'a_price', columns: ['price'], unique: true },
      ],
    }
    assert.deepEqual(await applied({ tables: [other] }), ['update table prices'])
    assert.deepEqual(
      (await query.tables.list())[0]?.indexes?.map(({ name }) => name),
      ['a_price', 'prices_note'],
    )
    for (const [indexes, path] of [
      [[{ name: 'i', columns: ['none'] }], 'tables[0].indexes[0].columns[0]'],
      [[{ name: 'i', columns: ['note', 'note desc'] }], 'tables[0].indexes[0].columns[1]'],
      [[byNote, byNote], 'tables[0].indexes[1].name'],
    ] as const)
      await assert.rejects(
        applied({ tables: [{ ...WIDER, indexes: [...indexes] }] } as Declaration),
        (error: Error) => {
          assert.ok(error instanceof BadDeclaration)
          assert.equal(error.faults[0]?.path, path)
          return true
        },
      )
    assert.deepEqual(await applied({ tables: [{ ...WIDER, indexes: [] }] }), [])
    assert.equal((await query.tables.list())[0]?.indexes?.length, 2)
    const pruned = await applied({ tables: [{ ...WIDER, indexes: [] }], prune: true })
    assert.ok(pruned.includes('update table prices'), pruned.join())
    assert.equal((await query.tables.list())[0]?.indexes, undefined)
  })

  test('the name of a system table and a row filter that is not IQL are refused with their path', async () => {
    const bad = {
      tables: [
        { ...PRICES, name: 'CatalogueTable' },
        { ...PRICES, name: 'other', row_filter: 'symbol = = 1' },
      ],
    }
    await assert.rejects(applied(bad), (error: Error) => {
      assert.ok(error instanceof BadDeclaration)
      assert.deepEqual(
        error.faults.map(({ path }) => path),
        ['tables[0].name', 'tables[1].row_filter'],
      )
      return true
    })
  })

  test('prune drops tables that are no longer in the file', async () => {
    assert.deepEqual(await applied({ prune: true, tables: [] }), ['remove table prices'])
    assert.deepEqual(await query.tables.list(), [])
  })
})

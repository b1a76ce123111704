/** `/catalogue`: tables page by page with the rights of the caller, one table in full, and the words of IQL. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { FUNCTIONS, functionNames, INTEGER, RESERVED } from 'gatehouse-iql'
import { CatalogueSnapshot, pageOfTables, viewFor } from '../../packages/server/src/query/catalogue/snapshot.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

interface Listed {
  readonly items: readonly {
    readonly name: string
    readonly columns: number
    readonly rights: readonly string[]
    readonly missingscopes: readonly string[]
  }[]
  readonly next: string | null
}

onEveryEngineInLongRuns('the catalogue', (place) => {
  let server: QueryServer
  before(async () => {
    server = await startQueryServer(place())
    for (const statement of [
      "CREATE TABLE Trades (id Integer PRIMARY KEY, price Decimal(18,4) NOT NULL DEFAULT 1.5, owner Text, venue Text UNIQUE) READ SCOPE 'Platform/Market' WRITE SCOPE 'Platform/Trading' ROW FILTER (owner = :username) COMMENT 'Every trade'",
      'CREATE INDEX trades_by_price ON Trades (price DESC, id)',
      'CREATE TABLE trade_days (day Date) WITH (live = off)',
      "CREATE TABLE trades_secret (id Integer) READ SCOPE 'Platform/Admin'",
      'CREATE TABLE tr (id Integer)',
      'CREATE TABLE "über 1/2" (id Integer)',
    ])
      assert.equal((await server.query(statement)).status, 200, statement)
  })
  after(() => server.stop())

  async function get<T>(path: string, as: string): Promise<T> {
    const { status, text } = await server.call(path, undefined, { as, method: 'GET' })
    assert.equal(status, 200, `${path}: ${text}`)
    return JSON.parse(text)
  }
  const names = ({ items }: Listed) => items.map(({ name }) => name)

  test('lists by prefix, without case, only what the caller may read, page by page', async () => {
    assert.deepEqual(names(await get('/catalogue/tables?prefix=TR', 'market')), ['tr', 'trade_days', 'Trades'])
    assert.deepEqual(names(await get('/catalogue/tables?prefix=TR', 'news')), ['tr', 'trade_days'])
    assert.deepEqual(names(await get('/catalogue/tables?prefix=trades', 'admin')), ['Trades', 'trades_secret'])
    assert.deepEqual(names(await get('/catalogue/tables?prefix=%C3%9C', 'news')), ['über 1/2'])
    const seen: string[] = []
    for (let path: string | null = '/catalogue/tables?limit=2&prefix='; path !== null; ) {
      const page: Listed = await get(path, 'market')
      assert.ok(page.items.length <= 2)
      seen.push(...names(page))
      path = page.next
    }
    const all = await get<Listed>('/catalogue/tables', 'market')
    assert.equal(all.next, null)
    assert.deepEqual(seen, names(all))
    assert.deepEqual(seen, [
      'alertevents',
      'alertstates',
      'cataloguecolumns',
      'CatalogueTable',
      'cataloguetables',
      'tr',
      'trade_days',
      'Trades',
      'über 1/2',
    ])
    assert.deepEqual(names(await get('/catalogue/tables?system=false&limit=3', 'market')), [
      'tr',
      'trade_days',
      'Trades',
    ])
    assert.deepEqual(names(await get('/catalogue/tables?system=true', 'market')), seen.slice(0, 5))
    for (const search of ['?limit=0', '?system=1', '?limit=x', '?what=1', '?prefix=a&prefix=b', '?after=%00'])
      assert.equal((await server.call(`/catalogue/tables${search}`, undefined, { method: 'GET' })).status, 400, search)
  })

  test('says what the caller may do', async () => {
    const rights = async (as: string): Promise<Record<string, readonly string[]>> =>
      Object.fromEntries((await get<Listed>('/catalogue/tables', as)).items.map((item) => [item.name, item.rights]))
    const market = await rights('market')
    assert.deepEqual([market.Trades, market.tr], [['select'], ['select']])
    const trader = await rights('trader')
    assert.deepEqual([trader.Trades, trader.tr], [['select', 'insert', 'update', 'delete'], ['select']])
    const admin = await rights('definer')
    assert.deepEqual(admin.tr, ['select', 'insert', 'update', 'delete', 'alter'])
    assert.deepEqual(admin.CatalogueTable, ['select', 'insert', 'update', 'delete'])
    assert.deepEqual(admin.cataloguetables, ['select'])
    // The definition is there for who may define; the rows are not.
    assert.deepEqual(admin.Trades, ['alter'])
    const hidden = await get<{ rights: string[]; missingscopes: string[]; columns: unknown[] }>(
      '/catalogue/tables/trades',
      'definer',
    )
    assert.deepEqual([hidden.rights, hidden.missingscopes], [['alter'], ['Platform/Market']])
    assert.equal(hidden.columns.length, 4)
    assert.deepEqual((await get<Listed>('/catalogue/tables?prefix=trades', 'trader')).items[0]?.missingscopes, [])
  })

  test('shows one table in full', async () => {
    const { created, ...table } = await get<Record<string, unknown>>('/catalogue/tables/TRADES', 'market')
    assert.ok(!Number.isNaN(Date.parse(String(created))))
    const column = { nullable: true, isprimarykey: false, default: null }
    assert.deepEqual(table, {
      name: 'Trades',
      issystem: false,
      description: 'Every trade',
      readscope: 'Platform/Market',
      writescope: 'Platform/Trading',
      requireacr: null,
      requireage: null,
      writerequireacr: null,
      writerequireage: null,
      live: true,
      columnar: false,
      retention: null,
      hold: false,
      isview: false,
      ismaterialized: false,
      view: null,
      rights: ['select'],
      missingscopes: [],
      columns: [
        { ...column, name: 'id', type: 'Integer', nullable: false, isprimarykey: true },
        { ...column, name: 'price', type: 'Decimal(18, 4)', nullable: false, default: '1.5' },
        { ...column, name: 'owner', type: 'Text' },
        { ...column, name: 'venue', type: 'Text' },
      ],
      primarykey: ['id'],
      uniques: [['venue']],
      indexes: [
        {
          name: 'trades_by_price',
          unique: false,
          columns: [
            { name: 'price', descending: true },
            { name: 'id', descending: false },
          ],
        },
      ],
      checks: [],
      rowfilter: 'owner = :username',
    })
    const odd = await get<{ name: string }>(`/catalogue/tables/${encodeURIComponent('Über 1/2')}`, 'news')
    assert.equal(odd.name, 'über 1/2')
  })

  test('a table that the caller may not read does not exist', async () => {
    for (const name of ['trades_secret', 'nothing']) {
      const reply = await server.call(`/catalogue/tables/${name}`, undefined, { as: 'market', method: 'GET' })
      assert.deepEqual([reply.status, reply.json.Code], [404, 'Data.UnknownTable'])
      assert.doesNotMatch(String(reply.json.Hint), /secret/)
    }
    const hinted = await server.call('/catalogue/tables/trade', undefined, { as: 'market', method: 'GET' })
    assert.match(hinted.json.Hint, /Trades/)
    assert.equal((await server.call('/catalogue/tables', undefined, { as: 'nobody', method: 'GET' })).status, 403)
  })

  test('the words of IQL are those of the parser and the binder', async () => {
    const language = await get<{
      keywords: string[]
      types: string[]
      functions: { name: string; signature: string }[]
    }>('/catalogue/language', 'news')
    for (const word of RESERVED) assert.ok(language.keywords.includes(word.toUpperCase()), word)
    assert.deepEqual(new Set(language.functions.map(({ name }) => name)), new Set(functionNames()))
    assert.ok(language.functions.length >= FUNCTIONS.length)
    assert.ok(language.functions.some(({ signature }) => signature.startsWith('vwap(')))
    assert.ok(language.types.includes('Decimal') && !language.types.includes('Interval'))
  })
})

test('a page of 5,000 tables is found without going through all of them', () => {
  const column = { name: 'id', type: INTEGER, nullable: false, default: undefined }
  const snapshot = new CatalogueSnapshot(
    Array.from({ length: 5000 }, (_table, index) => ({
      name: `T${String(index).padStart(4, '0')}`,
      columns: [column],
      primaryKey: ['id'],
      uniques: [],
      indexes: [],
      readScope: index % 2 === 0 ? undefined : 'Platform/Admin',
      writeScope: undefined,
      rowFilter: undefined,
      description: undefined,
      isLive: true,
      created: 0n,
    })),
  )
  const view = viewFor(snapshot, new Set(['Platform/Market']))
  let lookups = 0
  const counted = {
    ...view,
    lookup(name: string) {
      lookups++
      return view.lookup(name)
    },
  }
  const page = pageOfTables(snapshot, counted, { prefix: 't4', after: 'T4500', limit: 10 })
  assert.deepEqual(
    page.tables.map(({ name }) => name),
    Array.from({ length: 10 }, (_table, index) => `T45${String(2 * index + 2).padStart(2, '0')}`),
  )
  assert.equal(page.next, 'T4520')
  assert.ok(lookups < 30, String(lookups))
  const last = pageOfTables(snapshot, view, { prefix: 't4', after: 'T4996', limit: 10 })
  assert.deepEqual([last.tables.map(({ name }) => name), last.next], [['T4998'], undefined])
})

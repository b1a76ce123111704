/** pg_catalog and information_schema: what recorded clients read, by rights, within bounds. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CatalogueError } from '../../packages/server/src/wire/catalogue/catalogue-error.ts'
import { claimStatement } from '../../packages/server/src/wire/catalogue/claims.ts'
import { tokenize } from '../../packages/server/src/wire/catalogue/syntax/lexer.ts'
import type { CorpusLine } from '../../scripts/tools/corpus-file.ts'
import { compareRows, exceptionsFor } from './catalogue-comparison.ts'
import { EXCEPTIONS, type Exception } from './catalogue-exceptions.ts'
import { ask, buildTable, createCaller, demoTables, readRows, useCatalogue } from './catalogue-place.ts'

const CORPUS = new URL('./corpus/', import.meta.url)
const catalogue = useCatalogue()
const demo = createCaller(demoTables())
const NEVER = new AbortController().signal

function readLines(file: string): CorpusLine[] {
  return readFileSync(new URL(file, CORPUS), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** The ids of the recordings in ours. */
async function idsOfObjects(): Promise<(text: string) => string> {
  const objects: Record<string, string> = JSON.parse(readFileSync(new URL('objects.json', CORPUS), 'utf8'))
  const ids = new Map<string, string>()
  for (const [oid, name] of Object.entries(objects)) {
    const [kind = '', object = kind] = name.split(' ')
    const sql = OBJECTS.get(kind) ?? `SELECT oid FROM pg_class WHERE relname = $1`
    const parameters = sql.includes('$1') ? [object] : []
    const id = (await readRows(catalogue, demo, sql, ...parameters))[0]?.[0]
    assert.ok(id, `${name} has an id`)
    ids.set(oid, id)
  }
  return (text) => text.replaceAll(/\b16[34]\d\d\b/g, (oid) => ids.get(oid) ?? oid)
}

const OBJECTS: ReadonlyMap<string, string> = new Map([
  ['database', 'SELECT oid FROM pg_database'],
  ['role', 'SELECT oid FROM pg_roles WHERE rolname = $1'],
  ['type', 'SELECT oid FROM pg_type WHERE typname = $1'],
  ['constraint', 'SELECT oid FROM pg_constraint WHERE conname = $1'],
])

/** The statements of one message, each with its result. */
function listStatements(line: CorpusLine): CorpusLine[] {
  if (line.further === undefined) return [line]
  const ends = tokenize(line.text).flatMap(({ key, kind, at }) => (key === ';' || kind === 'end' ? [at] : []))
  const texts = ends
    .map((end, index) => line.text.slice(index === 0 ? 0 : (ends[index - 1] ?? 0) + 1, end))
    .filter((text) => text.trim() !== '')
  const results = [line, ...line.further]
  assert.equal(texts.length, results.length, line.text)
  return texts.map((text, index) => {
    const { columns, rows, rowCount, error } = results[index] ?? {}
    const result = {
      ...(columns && { columns }),
      ...(rows && { rows }),
      ...(rowCount && { rowCount }),
      ...(error && { error }),
    }
    return { text, source: line.source, protocol: line.protocol, ...result }
  })
}

test('recorded clients get the columns and rows of a PostgreSQL, but for listed exceptions', async () => {
  const withOurIds = await idsOfObjects()
  const differences: string[] = []
  const used = new Set<Exception>()
  let compared = 0
  let cut = 0
  for (const file of readdirSync(CORPUS).filter((name) => name.endsWith('.jsonl'))) {
    for (const { text, parameters = [], columns, rows, rowCount, error } of readLines(file).flatMap(listStatements)) {
      if (claimStatement(text) !== 'yes') continue
      compared++
      const differs = (what: string): void => {
        differences.push(`${file}: ${what}: ${text}`)
      }
      const values = parameters.map(({ value }) => (value === null ? null : withOurIds(value)))
      const declared = parameters.map((parameter) => parameter.declared)
      const ours = await catalogue.run(withOurIds(text), values, demo, NEVER, declared).catch((fault) => fault)
      if (ours instanceof Error) {
        const state = ours instanceof CatalogueError ? ours.sqlstate : ours.stack
        const exception = exceptionsFor(text).find(({ code }) => code === state)
        if (exception !== undefined && error !== undefined) used.add(exception)
        else if (state !== error?.code) differs(`${state} ${ours.message}`)
      } else if (error !== undefined) differs(`succeeds, and not ${error.code}`)
      else if (columns !== undefined && JSON.stringify(ours.columns) !== JSON.stringify(columns)) differs('columns')
      else if (columns !== undefined && rows !== undefined) {
        const theirs = rows.map((row) => row.map((value) => (value === null ? null : withOurIds(value))))
        const comparison = compareRows(text, { columns, rows: theirs, rowCount }, ours)
        for (const exception of comparison.used) used.add(exception)
        if (comparison.isCut) cut++
        if (comparison.problem !== undefined) differs(comparison.problem)
      }
    }
  }
  assert.ok(compared > 500, `${compared} statements are compared`)
  assert.ok(cut < 10, `of ${cut} statements only the columns are compared`)
  assert.deepEqual(differences, [])
  assert.deepEqual(
    EXCEPTIONS.filter((one) => !used.has(one)).map(({ why }) => why),
    [],
    'exceptions that nothing needs',
  )
})

test('a description has the columns and parameter types of a PostgreSQL', async () => {
  const text = 'SELECT relname, relkind, reltuples FROM pg_class WHERE oid = $1 AND relkind = ANY($2) AND relname = $3'
  assert.deepEqual(await catalogue.describe(text, [], demo), {
    columns: [
      { name: 'relname', type: 19, modifier: -1 },
      { name: 'relkind', type: 18, modifier: -1 },
      { name: 'reltuples', type: 700, modifier: -1 },
    ],
    parameters: [26, 1002, 19],
  })
})

test('"char" in quotes is the type of one byte, CHAR is character', async () => {
  const text = `SELECT relkind::"char" AS a, 'rest'::pg_catalog."char" AS b, '{r,v}'::"char"[] AS c, 'r'::char AS d
    FROM pg_class WHERE relname = 'trades'`
  const { columns, rows } = await ask(catalogue, demo, text)
  assert.deepEqual(
    columns.map(({ type }) => type),
    [18, 18, 1002, 1042],
  )
  assert.deepEqual(rows, [['r', 'r', '{r,v}', 'r']])
})

test('only statements on the catalogue are claimed', () => {
  const claims = claimStatement
  assert.equal(claims('SELECT 1'), 'no')
  assert.equal(claims('SELECT * FROM trades'), 'no')
  assert.equal(claims("SELECT 'pg_class' FROM trades"), 'no')
  assert.equal(claims('SELECT * FROM trades LATEST ON executed_at PARTITION BY pg_x'), 'no')
  assert.equal(claims('WITH pg_class AS (SELECT 1) SELECT * FROM pg_class'), 'no')
  assert.equal(claims('SELECT * FROM pg_class'), 'yes')
  assert.equal(claims('select * from INFORMATION_SCHEMA.TABLES'), 'yes')
  assert.equal(claims("SELECT 'trades'::regclass"), 'yes')
  assert.equal(claims('SELECT pg_catalog.pg_is_in_recovery()'), 'yes')
  assert.equal(claims('SELECT * FROM pg_class, trades'), 'mixed')
  assert.equal(claims('SELECT * FROM pg_class WHERE'), 'yes', 'its error is the catalogue’s')
})

const HIDDEN = [
  buildTable(1, 'open', [{ name: 'a', type: 'Text' }], { readScope: 'Platform/Market' }),
  buildTable(2, 'secret', [{ name: 'hidden_column', type: 'Text' }], {
    readScope: 'Platform/Trading',
    description: 'a hidden comment',
    indexes: [{ name: 'hidden_index', unique: false, columns: [{ name: 'hidden_column', descending: false }] }],
  }),
  buildTable(3, 'secret_view', [{ name: 'hidden_result', type: 'Text' }], {
    primaryKey: [],
    view: { text: 'SELECT hidden_column FROM secret', uses: ['secret'] },
  }),
]

test('what the scopes may not read is in no table of the catalogue', async () => {
  const names = await readRows(
    catalogue,
    demo,
    "SELECT nspname || '.' || relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE n.nspname <> 'public' AND relkind IN ('r', 'v')",
  )
  for (const scopes of [['Platform/Market'], ['Platform/Market', 'Platform/Admin']]) {
    const caller = createCaller(HIDDEN, scopes)
    for (const [name] of names) {
      const { rows } = await ask(catalogue, caller, `SELECT * FROM ${name}`)
      assert.doesNotMatch(JSON.stringify(rows), /secret|hidden/, String(name))
    }
    await assert.rejects(ask(catalogue, caller, "SELECT 'secret'::regclass"), { sqlstate: '42P01' })
    assert.deepEqual(await readRows(catalogue, caller, "SELECT to_regclass('secret'), to_regtype('secret')"), [
      [null, null],
    ])
  }
  const both = createCaller(HIDDEN, ['Platform/Market', 'Platform/Trading'])
  assert.deepEqual(
    await readRows(
      catalogue,
      both,
      "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1",
    ),
    [['open'], ['secret'], ['secret_view']],
  )
})

test('privileges follow from scopes', async () => {
  const sql =
    "SELECT has_table_privilege('trades', 'SELECT'), has_table_privilege('trades', 'INSERT'), has_schema_privilege('public', 'CREATE')"
  assert.deepEqual(await readRows(catalogue, demo, sql), [['t', 'f', 'f']])
  const trader = createCaller(demoTables(), ['Platform/Market', 'Platform/Trading'])
  assert.deepEqual(await readRows(catalogue, trader, sql), [['t', 't', 'f']])
})

test('callers with the same scopes see themselves', async () => {
  for (const user of ['alice', 'bob']) {
    const sql = 'SELECT current_user, (SELECT rolname FROM pg_roles WHERE rolname = current_user)'
    assert.deepEqual(await readRows(catalogue, { ...demo, user }, sql), [[user, user]])
  }
})

test('keys, indexes, checks, defaults and views are shown as PostgreSQL shows them', async () => {
  const caller = createCaller([
    buildTable(
      7,
      'Orders',
      [
        { name: 'id', type: 'Uuid', nullable: false },
        { name: 'qty', type: 'Integer', default: '1' },
        { name: 'at', type: 'Timestamp' },
      ],
      {
        uniques: [['qty', 'at']],
        indexes: [{ name: 'by_time', unique: false, columns: [{ name: 'at', descending: true }] }],
        checks: [{ name: 'positive', condition: 'qty > 0' }],
      },
    ),
    buildTable(8, 'totals', [{ name: 'n', type: 'Decimal(20, 2)' }], {
      primaryKey: [],
      view: { text: 'SELECT 1.00 AS n', uses: [] },
    }),
  ])
  assert.deepEqual(
    await readRows(
      catalogue,
      caller,
      `SELECT conname, contype, pg_get_constraintdef(oid) FROM pg_constraint ORDER BY conname`,
    ),
    [
      ['Orders_pkey', 'p', 'PRIMARY KEY (id)'],
      ['Orders_qty_at_key', 'u', 'UNIQUE (qty, at)'],
      ['positive', 'c', 'CHECK (qty > 0)'],
    ],
  )
  assert.deepEqual(await readRows(catalogue, caller, `SELECT indexdef FROM pg_indexes WHERE indexname = 'by_time'`), [
    ['CREATE INDEX by_time ON public."Orders" USING btree (at DESC)'],
  ])
  assert.deepEqual(
    await readRows(
      catalogue,
      caller,
      `SELECT format_type(atttypid, atttypmod), atthasdef FROM pg_attribute WHERE attrelid = '"Orders"'::regclass ORDER BY attnum`,
    ),
    [
      ['uuid', 'f'],
      ['bigint', 't'],
      ['timestamp with time zone', 'f'],
    ],
  )
  assert.deepEqual(
    await readRows(
      catalogue,
      caller,
      `SELECT pg_get_viewdef('totals'::regclass), numeric_precision FROM information_schema.columns WHERE table_name = 'totals'`,
    ),
    [[' SELECT 1.00 AS n;', '20']],
  )
})

test('materialized views are relations of kind m, with their query, keys and indexes', async () => {
  const kept = {
    text: 'SELECT symbol, count(*) AS n FROM trades GROUP BY symbol',
    uses: ['trades'],
    logged: [],
    keys: [],
  } as const
  const state = { progress: 1, isBuilt: true, hasCut: false, error: '' } as const
  const columns = [
    { name: 'symbol', type: 'Text', nullable: false },
    { name: 'n', type: 'Integer' },
  ]
  const caller = createCaller([
    buildTable(7, 'trades', columns),
    buildTable(8, 'bars', columns, {
      kept,
      keptState: { state: 'ready', ...state },
      indexes: [{ name: 'bars_n', unique: false, columns: [{ name: 'n', descending: false }] }],
    }),
    buildTable(9, 'hours', columns, { kept, keptState: { state: 'building', ...state } }),
  ])
  const read = (statement: string) => readRows(catalogue, caller, statement)
  // As psql 15 asks for \dm.
  const listed = `SELECT n.nspname as "Schema", c.relname as "Name",
      CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'i' THEN 'index' WHEN 'S' THEN 'sequence' WHEN 't' THEN 'TOAST table' WHEN 'f' THEN 'foreign table' WHEN 'p' THEN 'partitioned table' WHEN 'I' THEN 'partitioned index' END as "Type",
      pg_catalog.pg_get_userbyid(c.relowner) as "Owner"
    FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
    WHERE c.relkind IN ('m','') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast' AND n.nspname <> 'information_schema'
      AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1,2`
  assert.deepEqual(
    (await read(listed)).map(([schema, name, type]) => [schema, name, type]),
    [
      ['public', 'bars', 'materialized view'],
      ['public', 'hours', 'materialized view'],
    ],
  )
  assert.deepEqual(await read('SELECT matviewname, hasindexes, ispopulated, definition FROM pg_matviews ORDER BY 1'), [
    ['bars', 't', 't', ` ${kept.text};`],
    ['hours', 't', 'f', ` ${kept.text};`],
  ])
  assert.deepEqual(
    await read(
      `SELECT relname, relkind, relispopulated FROM pg_class WHERE relkind IN ('r', 'm') AND oid >= 16384 ORDER BY 1`,
    ),
    [
      ['bars', 'm', 't'],
      ['hours', 'm', 'f'],
      ['trades', 'r', 't'],
    ],
  )
  assert.deepEqual(await read(`SELECT pg_get_viewdef('bars'::regclass), obj_description('bars'::regclass)`), [
    [` ${kept.text};`, null],
  ])
  assert.deepEqual(await read(`SELECT indexname FROM pg_indexes WHERE tablename = 'bars' ORDER BY 1`), [
    ['bars_n'],
    ['bars_pkey'],
  ])
  // As in PostgreSQL, the information schema has none of it.
  assert.deepEqual(await read(`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`), [
    ['trades'],
  ])
  assert.deepEqual(await read(`SELECT viewname FROM pg_views WHERE schemaname = 'public'`), [])
})

test('object ids are those of the table’s number, whatever else there is', async () => {
  const [first, second] = [
    buildTable(5, 'a', [{ name: 'x', type: 'Text' }]),
    buildTable(9, 'b', [{ name: 'x', type: 'Text' }]),
  ]
  const readId = async (tables: Parameters<typeof createCaller>[0], name: string) =>
    (await readRows(catalogue, createCaller(tables), 'SELECT oid FROM pg_class WHERE relname = $1', name))[0]?.[0]
  const id = await readId([first, second], 'b_pkey')
  assert.ok(Number(id) > 16_384)
  assert.equal(await readId([second], 'b_pkey'), id)
  assert.notEqual(await readId([first, second], 'a_pkey'), id)
})

test('bad statements are refused with their SQLSTATE and a position', async () => {
  const cases: readonly (readonly [text: string, state: string, at?: number])[] = [
    ['SELECT FROM WHERE pg_class', '42601', 12],
    ['SELECT relname FROM pg_class WHERE', '42601', 34],
    ['SELECT * FROM pg_nothing', '42P01', 14],
    ['SELECT x.relname FROM pg_class', '42P01', 7],
    ['SELECT nothing FROM pg_class', '42703', 7],
    ['SELECT oid FROM pg_class, pg_type', '42702', 7],
    ['SELECT pg_nothing(oid) FROM pg_class', '42883', 7],
    ['SELECT oid = relname FROM pg_class', '42883'],
    ["SELECT 'nothing'::regclass", '42P01'],
    ['SELECT 1::nothing FROM pg_class', '42704', 10],
    ["SELECT * FROM pg_class WHERE oid = 'x'", '22P02', 35],
    ["SELECT current_setting('no.such')", '42704'],
    ['DELETE FROM pg_class', '0A000', 0],
    ['SELECT x.n FROM pg_class c, LATERAL (SELECT c.relname AS n) x', '0A000'],
    [`SELECT ${'('.repeat(500)}1${')'.repeat(500)} FROM pg_class`, '54001'],
  ]
  for (const [text, state, at] of cases) {
    const fault = await ask(catalogue, demo, text).then(
      () => undefined,
      (error) => error,
    )
    assert.ok(fault instanceof CatalogueError, `${text}: ${fault?.stack}`)
    assert.deepEqual([fault.sqlstate, at === undefined ? undefined : fault.at], [state, at], text)
  }
})

const CROSS = 'SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c'

test('a statement that was cancelled ends, and did not stop other callers', async () => {
  const cancel = new AbortController()
  let isRunning = true
  const running = catalogue.run(CROSS, [], { ...demo, owner: 'mallory' }, cancel.signal).finally(() => {
    isRunning = false
  })
  running.catch(() => {})
  assert.deepEqual(await readRows(catalogue, demo, 'SELECT 1 FROM pg_am LIMIT 1'), [['1']])
  assert.ok(isRunning)
  cancel.abort(new Error('cancelled by the test'))
  await assert.rejects(running, /cancelled by the test/)
})

test('a caller under several names has one turn', async () => {
  const short = useCatalogue({ statementMilliseconds: 3_000 })
  const long = ['mallory', 'token'].map((user) => ask(short, { ...demo, user, owner: 'mallory' }, CROSS))
  const ended: string[] = []
  for (const each of long) each.catch(() => void ended.push('long'))
  await readRows(short, demo, 'SELECT 1 FROM pg_am LIMIT 1')
  assert.deepEqual(ended, [])
  await Promise.allSettled(long)
})

test('a statement that takes too long is ended, and the next one runs', async () => {
  const short = useCatalogue({ statementMilliseconds: 1_000 })
  await assert.rejects(ask(short, demo, CROSS), { sqlstate: '57014', message: /took longer than 1 second/ })
  assert.deepEqual(await readRows(short, demo, 'SELECT 1 FROM pg_am LIMIT 1'), [['1']])
})

test('a statement that needs too much memory is refused', async () => {
  const statements = [
    'SELECT array_agg(a.attname || b.attname) FROM pg_attribute a, pg_attribute b',
    "SELECT string_agg(repeat('x', 1000000), '') FROM generate_series(1, 100000) s, pg_am",
    'SELECT a.*, b.* FROM pg_attribute a, pg_attribute b',
  ]
  for (const text of statements) {
    const fault = await ask(catalogue, demo, text).catch((error) => error)
    assert.ok(fault instanceof CatalogueError, String(fault))
    assert.match(fault.sqlstate, /^(53200|54000|57014)$/, `${text}: ${fault.message}`)
  }
  assert.equal((await readRows(catalogue, demo, 'SELECT 1 FROM pg_am LIMIT 1')).length, 1)
})

test('the process ends when it is idle, and the next statement starts another', async () => {
  const short = useCatalogue({ idleMilliseconds: 100 })
  const pid = async () => (await readRows(short, demo, 'SELECT 1 FROM pg_am LIMIT 1')).length
  assert.equal(await pid(), 1)
  const running = () => children().length
  const before = running()
  for (let tries = 0; tries < 50 && running() >= before; tries++) await sleep(50)
  assert.equal(running(), before - 1)
  assert.equal(await pid(), 1)
})

/** The processes of catalogues that this one has started. */
function children(): string[] {
  return readdirSync('/proc').filter((entry) => {
    if (!/^\d+$/.test(entry)) return false
    try {
      const parent = Number(readFileSync(`/proc/${entry}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[1])
      return (
        parent === process.pid && readFileSync(`/proc/${entry}/cmdline`, 'latin1').includes('catalogue-process-main')
      )
    } catch {
      return false
    }
  })
}

test('changed texts are answered or refused, and never cause an internal error', async () => {
  const texts = readdirSync(CORPUS)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((file) => readLines(file).map(({ text }) => text))
    .filter((text) => claimStatement(text) === 'yes' && text.length < 1500)
  let seed = 7
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % below
  }
  for (let count = 0; count < 400; count++) {
    const words = (texts[random(texts.length)] ?? '').split(/\b/)
    for (let changes = 1 + random(3); changes > 0; changes--) {
      const [at, from] = [random(words.length), random(words.length)]
      if (random(3) === 0) words.splice(at, 1)
      else words[at] = random(2) === 0 ? (words[from] ?? '') : (MARKS[random(MARKS.length)] ?? '')
    }
    const text = words.join('')
    const fault = await ask(catalogue, demo, text).catch((error) => error)
    if (fault instanceof Error) assert.ok(fault instanceof CatalogueError, `${text}\n${fault.stack}`)
  }
})

const MARKS = [
  "'",
  '"',
  '(',
  ')',
  '[1]',
  '::',
  '~',
  '$1',
  '$9',
  '||',
  'NULL',
  'ANY',
  '/*',
  '--',
  '*',
  ',',
  ';',
  'NOT',
  "E'\\'",
  '$$',
  'é',
  '\u0000',
  'ARRAY[',
  'ORDER BY 99',
]

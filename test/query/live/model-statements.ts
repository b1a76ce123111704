/** Random writes and random live statements over a few small tables, for the model of live queries. */
import type { Choice } from '../agree/choice.ts'

export const DEFINITIONS: readonly string[] = [
  'CREATE TABLE t (id Integer PRIMARY KEY, g Text NOT NULL, n Integer NOT NULL, v Decimal(12, 4), at Timestamp, note Text)',
  'CREATE INDEX t_g ON t (g)',
  'CREATE TABLE u (g Text, k Integer, w Integer NOT NULL, PRIMARY KEY (g, k))',
  'CREATE TABLE p (a Text NOT NULL, b Integer)',
  "CREATE TABLE o (id Integer PRIMARY KEY, owner Text NOT NULL, n Integer) WRITE SCOPE 'Platform/Market'",
  'CREATE TABLE c (id Integer PRIMARY KEY, amount Integer NOT NULL)',
  'CREATE TABLE f (id Integer PRIMARY KEY, n Integer NOT NULL) WITH (live = off)',
  'CREATE VIEW v AS SELECT g AS kind, id AS number, n * 2 AS twice, note FROM t WHERE n < 8',
  'CREATE VIEW vv AS SELECT number, twice + number AS total, kind FROM v x WHERE x.twice > 2',
  `INSERT INTO c VALUES ${Array.from({ length: 12 }, (_row, id) => `(${id}, 100)`).join(', ')}`,
  // Last, so that the owner of a row can be anybody.
  "ALTER TABLE o SET ROW FILTER (owner = :username OR 'admin' = :username)",
]
/** The sum of `amount` in the table c, which every write leaves as it is. */
export const TOTAL = 1200

/** The tables with a log. */
export const LOGGED = ['t', 'u', 'p', 'o', 'c'] as const

export interface ModelStatement {
  readonly text: string
  readonly parameters: Readonly<Record<string, string | number>>
  readonly user: 'admin' | 'alice'
  readonly tables: readonly string[]
  readonly method: 'keys' | 'rerun' | 'clock'
  readonly isOrdered: boolean
  /** What holds for its rows in every state. */
  readonly invariant?: (rows: readonly Readonly<Record<string, unknown>>[]) => boolean
}

const GROUPS = ['A', 'B', 'C', "D'é", ''] as const
const IDS = 40

type Part = Omit<ModelStatement, 'user' | 'parameters'> & Partial<Pick<ModelStatement, 'user' | 'parameters'>>

export function makeStatement(choice: Choice): ModelStatement {
  const make = choice.of([keys, keys, keys, rerun, rerun, rerun, ordered, ordered, constant, owned, clock])
  return { user: 'admin', parameters: {}, ...make(choice) }
}

function keys(choice: Choice): Part {
  const columns = choice.of(['n', '*', 'id, g, v', 'note, n * 2 AS m', 'upper(g) AS g, n', 'id', 'at, note'])
  const group = choice.of(GROUPS)
  const n = choice.below(10)
  const base = { method: 'keys', isOrdered: false } as const
  const onT = { ...base, tables: ['t'] }
  return choice.of<Part>([
    { ...onT, text: `SELECT ${columns} FROM t` },
    { ...onT, text: `SELECT ${columns} FROM t WHERE g = :s`, parameters: { s: group } },
    { ...onT, text: `SELECT ${columns} FROM t WHERE g = :s`, parameters: { s: group } },
    { ...onT, text: `SELECT ${columns} FROM t WHERE g = :s AND n = ${n}`, parameters: { s: group } },
    { ...onT, text: `SELECT ${columns} FROM t WHERE id = :i`, parameters: { i: choice.below(IDS) } },
    { ...onT, text: `SELECT ${columns} FROM t WHERE n > ${n} AND g = 'A'` },
    { ...onT, text: `SELECT ${columns} FROM t WHERE note IS NULL OR v > 50` },
    { ...onT, text: `SELECT ${columns} FROM t WHERE id % 3 = ${n % 3} AND g <> 'B'` },
    { ...onT, text: 'SELECT * FROM v WHERE kind = :s', parameters: { s: group } },
    { ...onT, text: `SELECT twice, note FROM v WHERE number = ${choice.below(IDS)}` },
    { ...onT, text: `SELECT kind, total, total AS again FROM vv WHERE total > ${n} OR kind = 'B'` },
    { ...onT, text: 'SELECT x.g FROM (SELECT g, n FROM t WHERE n > 3) x' },
    { ...base, tables: ['u'], text: 'SELECT w FROM u WHERE g = :s', parameters: { s: group } },
    { ...base, tables: ['u'], text: `SELECT g, w FROM u WHERE k > ${n}` },
    { ...base, tables: ['u'], text: 'SELECT k, w FROM u WHERE k = :k', parameters: { k: n } },
  ])
}

function rerun(choice: Choice): Part {
  const n = choice.below(10)
  const base = { method: 'rerun', isOrdered: false } as const
  const both = { ...base, tables: ['t', 'u'] }
  const onT = { ...base, tables: ['t'] }
  return choice.of<Part>([
    { ...both, text: 'SELECT t.id, u.w FROM t JOIN u ON u.g = t.g' },
    { ...both, text: `SELECT t.g, u.k FROM t LEFT JOIN u ON u.g = t.g AND u.k = t.n WHERE t.n < ${n}` },
    { ...both, text: 'SELECT t.g, count(*) AS c, max(u.w) AS w FROM t JOIN u ON u.g = t.g GROUP BY t.g' },
    { ...both, text: 'SELECT id FROM t WHERE g IN (SELECT g FROM u WHERE w > 5)' },
    { ...both, text: `SELECT n FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.g = t.g AND u.k = ${n})` },
    { ...both, text: 'SELECT g FROM t UNION SELECT g FROM u' },
    { ...both, text: 'SELECT g FROM t UNION ALL SELECT g FROM u' },
    { ...both, text: 'SELECT n FROM t EXCEPT SELECT w FROM u' },
    { ...both, text: 'WITH x AS (SELECT g, sum(n) AS s FROM t GROUP BY g) SELECT x.s, u.w FROM x JOIN u ON u.g = x.g' },
    { ...onT, text: 'SELECT count(*) AS c, sum(n) AS s, max(v) AS m FROM t' },
    { ...onT, text: `SELECT count(*) AS c FROM t WHERE n = ${n}` },
    { ...onT, text: 'SELECT sum(n) AS s, count(note) AS c FROM t GROUP BY g' },
    { ...onT, text: `SELECT g, min(id) AS first FROM t GROUP BY g HAVING count(*) > ${n % 4}` },
    { ...onT, text: 'SELECT DISTINCT g, n FROM t' },
    { ...onT, text: 'SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) AS r FROM t' },
    { ...onT, text: 'SELECT x.g FROM (SELECT DISTINCT g, n FROM t WHERE n > 3) x' },
    { ...onT, text: 'SELECT kind, sum(twice) AS s FROM v GROUP BY kind' },
    { ...onT, text: 'SELECT g, n, v FROM t LATEST ON at PARTITION BY g' },
    { ...onT, text: `SELECT count(*) AS c FROM t WHERE n < ${n} LATEST ON id PARTITION BY g, n` },
    {
      ...onT,
      text: "SELECT g, time_bucket_gapfill('1 day', at, '2001-02-01T00:00:00Z', '2001-02-06T00:00:00Z') AS day, locf(count(*)) AS c FROM t GROUP BY g, day",
    },
    { ...onT, text: 'SELECT g, median(n) AS m, corr(n, id) AS r FROM t GROUP BY g' },
    { ...onT, text: `SELECT s, count(t.id) AS c FROM generate_series(0, ${n}) AS s LEFT JOIN t ON t.n = s GROUP BY s` },
    { ...base, tables: ['p'], text: 'SELECT a, b FROM p' },
    { ...base, tables: ['p'], text: 'SELECT a, count(*) AS c FROM p GROUP BY a' },
    { ...base, tables: ['p', 'u'], text: 'SELECT p.b, u.w FROM p JOIN u ON u.g = p.a' },
  ])
}

function ordered(choice: Choice): Part {
  const base = { method: 'rerun', isOrdered: true } as const
  const limit = 1 + choice.below(12)
  return choice.of<Part>([
    { ...base, tables: ['t'], text: 'SELECT id, g, n FROM t ORDER BY n, id' },
    { ...base, tables: ['t'], text: `SELECT id, n FROM t ORDER BY n DESC, id LIMIT ${limit}` },
    { ...base, tables: ['t'], text: `SELECT g, v FROM t ORDER BY id DESC LIMIT ${limit} OFFSET ${limit % 4}` },
    { ...base, tables: ['t'], text: 'SELECT g, sum(n) AS s FROM t GROUP BY g ORDER BY s DESC, g' },
    { ...base, tables: ['t'], text: 'SELECT id, g, note FROM t LATEST ON at PARTITION BY g ORDER BY g' },
    { ...base, tables: ['u'], text: `SELECT g, k, w FROM u ORDER BY w, k DESC, g LIMIT ${limit}` },
    { ...base, tables: ['t', 'u'], text: 'SELECT t.id, u.k, u.w FROM t JOIN u ON u.g = t.g ORDER BY u.w, t.id, u.k' },
  ])
}

/** What every commit keeps shows that no state is a mixture, also where commits come together. */
function constant(choice: Choice): Part {
  const base = { isOrdered: false, tables: ['c'] }
  const isTotal: ModelStatement['invariant'] = (rows) =>
    rows.reduce((sum, { amount }) => sum + Number(amount), 0) === TOTAL
  return choice.of<Part>([
    { ...base, method: 'keys', text: 'SELECT amount FROM c', invariant: isTotal },
    { ...base, method: 'rerun', text: 'SELECT sum(amount) AS amount FROM c', invariant: isTotal },
    {
      ...base,
      method: 'rerun',
      isOrdered: true,
      text: 'SELECT id, amount FROM c ORDER BY amount, id',
      invariant: isTotal,
    },
  ])
}

function owned(choice: Choice): Part {
  const user = choice.of(['admin', 'alice'] as const)
  const base = { user, tables: ['o'], isOrdered: false }
  const isOwn: ModelStatement['invariant'] = (rows) =>
    user === 'admin' || rows.every(({ owner = 'alice' }) => owner === 'alice')
  return choice.of<Part>([
    { ...base, method: 'keys', text: 'SELECT owner, n FROM o', invariant: isOwn },
    { ...base, method: 'keys', text: 'SELECT id FROM o WHERE n = :n', parameters: { n: choice.below(4) } },
    { ...base, method: 'rerun', text: 'SELECT count(*) AS c, max(n) AS n FROM o' },
  ])
}

/** The rows are long past or far in the future. */
function clock(choice: Choice): Part {
  const base = { method: 'clock', isOrdered: false, tables: ['t'] } as const
  return choice.of<Part>([
    { ...base, text: 'SELECT id, n FROM t WHERE at < now()' },
    { ...base, text: 'SELECT g, count(*) AS c FROM t WHERE at < now() GROUP BY g' },
  ])
}

/** Statements on a table without a log: their positions say little, but the last state is known. */
export const UNLOGGED: ModelStatement = {
  text: 'SELECT n FROM f',
  parameters: {},
  user: 'admin',
  tables: ['f'],
  method: 'rerun',
  isOrdered: false,
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** A write through the query service. Some are refused, because a key exists. */
export function makeWrite(choice: Choice): string {
  const id = choice.below(IDS)
  const group = quoted(choice.of(GROUPS))
  const n = choice.below(10)
  const row = (at: number): string => {
    const note = choice.oneIn(3) ? 'NULL' : quoted(`note ${choice.below(100)}`)
    const time = choice.of(['NULL', "'2001-02-03T04:05:06Z'", "'2999-01-01T00:00:00Z'"])
    const value = choice.oneIn(4) ? 'NULL' : `${choice.below(100)}.${choice.below(100)}`
    return `(${at}, ${quoted(choice.of(GROUPS))}, ${choice.below(10)}, ${value}, ${time}, ${note})`
  }
  const rows = (): string =>
    Array.from({ length: 1 + choice.below(5) }, (_row, index) => row((id + index) % IDS)).join(', ')
  const pair = (): string => `(${group}, ${n}, ${choice.below(12)})`
  const owner = choice.of(['alice', 'admin', 'bob'])
  const byKey: (() => string)[] = [
    () => `INSERT INTO t VALUES ${rows()}`,
    () => `INSERT INTO t VALUES ${row(id)}`,
    () => `INSERT INTO t VALUES ${rows()} ON CONFLICT (id) DO UPDATE SET n = excluded.n, g = excluded.g`,
    () => `INSERT INTO t VALUES ${rows()} ON CONFLICT DO NOTHING`,
    () => `UPDATE t SET g = ${group} WHERE id = ${id}`,
    () => `UPDATE t SET id = id + ${1 + choice.below(3)} WHERE id = ${id}`,
    () => `UPDATE t SET id = ${IDS * 2} - id WHERE id IN (${id}, ${id + 1}, ${IDS * 2 - id})`,
    () => `DELETE FROM t WHERE id = ${id}`,
    () => `INSERT INTO u VALUES ${pair()} ON CONFLICT (g, k) DO UPDATE SET w = excluded.w`,
    () => `INSERT INTO u VALUES ${pair()} ON CONFLICT DO NOTHING`,
    () => `INSERT INTO p VALUES (${group}, ${n}), (${group}, ${n})`,
    () => `INSERT INTO o VALUES (${id}, '${owner}', ${n % 4}) ON CONFLICT (id) DO UPDATE SET owner = excluded.owner`,
    () => transfer(choice),
    () => transfer(choice),
    () => `INSERT INTO f VALUES (${id}, ${n}) ON CONFLICT (id) DO UPDATE SET n = excluded.n`,
  ]
  // On SQLite each of these runs in a separate process, which takes a while to start.
  const byCondition: (() => string)[] = [
    () => `UPDATE t SET n = n + 1 WHERE g = ${group}`,
    () => `UPDATE t SET g = ${group} WHERE n = ${n}`,
    () => `UPDATE t SET note = NULL, v = v WHERE id > ${id}`,
    () => `UPDATE t SET n = (n * 7) % 10 ALL`,
    () => `DELETE FROM t WHERE n = ${n}`,
    () => (choice.oneIn(6) ? 'DELETE FROM t ALL' : `DELETE FROM t WHERE id > ${IDS}`),
    () => `UPDATE u SET k = k + 20, w = w + 1 WHERE g = ${group} AND k < 20`,
    () => `UPDATE u SET g = ${group} WHERE k = ${n}`,
    () => `DELETE FROM u WHERE k > ${n}`,
    () => `UPDATE p SET b = b + 1 WHERE a = ${group}`,
    () => `DELETE FROM p WHERE b > ${n}`,
    () => `UPDATE o SET owner = '${owner}' WHERE n = ${n % 4}`,
    () => `DELETE FROM o WHERE id > ${id}`,
    () => `UPDATE c SET id = id + 100 WHERE id < 12 AND id % 5 = ${n % 5}`,
    () => `UPDATE c SET id = id - 100 WHERE id >= 100`,
    () => `DELETE FROM f WHERE n = ${n}`,
  ]
  return choice.of(choice.oneIn(4) ? byCondition : byKey)()
}

function transfer(choice: Choice): string {
  const amount = 1 + choice.below(20)
  return `UPDATE c SET amount = CASE WHEN id % 2 = 0 THEN amount - ${amount} ELSE amount + ${amount} END WHERE id IN (${findPair(choice)})`
}

/** An even and an odd account, wherever they are. */
function findPair(choice: Choice): string {
  const even = choice.below(6) * 2
  const odd = choice.below(6) * 2 + 1
  return `${even}, ${even + 100}, ${odd}, ${odd + 100}`
}

/** The statements of a transaction of another program, in SQL that both databases understand. `schema` ends with a dot. */
export function makeForeign(choice: Choice, schema: string): string[] {
  const id = choice.below(IDS)
  const group = quoted(choice.of(GROUPS))
  const amount = 1 + choice.below(9)
  const statements: (() => string[])[] = [
    () => [`INSERT INTO ${schema}t (id, g, n) VALUES (${id}, ${group}, ${amount}) ON CONFLICT DO NOTHING`],
    () => [`UPDATE ${schema}t SET n = n + 1 WHERE id > ${id}`],
    () => [`UPDATE ${schema}t SET g = ${group} WHERE id = ${id}`],
    () => [`UPDATE ${schema}t SET id = id + 300 WHERE id = ${id}`],
    () => [`DELETE FROM ${schema}t WHERE id >= ${IDS * 2}`],
    () => [`INSERT INTO ${schema}u (g, k, w) VALUES (${group}, ${amount}, ${id}) ON CONFLICT DO NOTHING`],
    () => [`DELETE FROM ${schema}p WHERE b = ${amount}`],
    // The sum changes within the transaction, and is the same at its end.
    () => [
      `UPDATE ${schema}c SET amount = amount - ${amount} WHERE id IN (0, 100)`,
      `UPDATE ${schema}c SET amount = amount + ${amount} WHERE id IN (7, 107)`,
    ],
    () => [`INSERT INTO ${schema}o (id, owner, n) VALUES (${id}, 'alice', 1) ON CONFLICT DO NOTHING`],
  ]
  return choice.list(1, 3, () => choice.of(statements)()).flat()
}

/** ASOF JOIN with and without an index on the right side: the answers of a nested loop, the plan, and what a time limit says. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine } from '../support/engines.ts'
import { Choice } from './agree/choice.ts'
import { type QueryServer, startQueryServer } from './query-server.ts'

interface Row {
  readonly id: number
  readonly k: string | null
  readonly j: number | null
  readonly t: number | null
  readonly v: number
}

const COLUMNS = '(id Integer PRIMARY KEY, k Text, j Integer, t Integer, v Integer NOT NULL)'
const RIGHTS = ['plain', 'indexed', 'filtered']
const MANY = 20_000

onEveryEngine('ASOF JOIN', (place) => {
  let server: QueryServer
  const choice = new Choice(23)
  const lefts = makeRows(choice, 120)
  const rights = makeRows(choice, 150)
  before(async () => {
    server = await startQueryServer(place(), { limits: { milliseconds: 10_000 } })
    await run(`CREATE TABLE l ${COLUMNS}`)
    await run(`CREATE TABLE plain ${COLUMNS}`)
    await run(`CREATE TABLE indexed ${COLUMNS}`)
    await run('CREATE INDEX indexed_by_key ON indexed (j, k, t)')
    await run('CREATE INDEX indexed_by_k ON indexed (k, t)')
    await run('CREATE INDEX indexed_by_time ON indexed (t)')
    await run(`CREATE TABLE filtered ${COLUMNS} ROW FILTER (v >= 0 OR 'operator' IN (:role))`)
    await insert('l', lefts)
    for (const name of RIGHTS) await insert(name, rights)
    for (const name of ['many', 'others']) {
      await run(`CREATE TABLE ${name} ${COLUMNS}`)
      const values = `SELECT n, 'A', 1, n * 7919 % 100003, n FROM generate_series(1, ${MANY}, 1) AS g (n)`
      await run(`INSERT INTO ${name} ${values}`)
    }
  })
  after(() => server.stop())

  async function run(statement: string, as = 'admin') {
    const reply = await server.query(statement, { as })
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    return reply.json
  }

  async function insert(table: string, rows: readonly Row[]): Promise<void> {
    const reply = await server.call(`/query/${table}/insert`, rows)
    assert.equal(reply.status, 200, reply.text)
  }

  test('the rows are those of a nested loop: ties, NULLs, each comparison, several keys, row filters', async () => {
    for (const operator of ['>=', '>', '<=', '<'] as const)
      for (const keys of [[], ['k'], ['k', 'j']] as const)
        for (const outer of [true, false])
          for (const right of RIGHTS)
            for (const as of right === 'filtered' ? ['admin', 'market'] : ['admin']) {
              const on = [...keys.map((key) => `l.${key} = r.${key}`), `l.t ${operator} r.t`].join(' AND ')
              const join = `FROM l ASOF ${outer ? 'LEFT ' : ''}JOIN ${right} r ON ${on}`
              const { Rows } = await run(`SELECT l.id AS l, r.id AS r, r.v AS v ${join} ORDER BY l.id`, as)
              const visible = as === 'market' ? rights.filter(({ v }) => v >= 0) : rights
              assert.deepEqual(Rows, joinNaively(lefts, visible, { operator, keys, outer }), `${as}: ${join}`)
            }
  })

  test('the answer is the same where the join is a part of something larger', async () => {
    const on = 'l.k = r.k AND l.t >= r.t'
    for (const statement of [
      (right: string) =>
        `SELECT l.id, r.id AS r FROM l ASOF JOIN ${right} r ON ${on} WHERE l.k = 'A' AND r.v > l.v ORDER BY l.id`,
      (right: string) => `SELECT l.id, r.id AS r FROM l ASOF JOIN ${right} r ON ${on} WHERE l.id = 21`,
      (right: string) =>
        `SELECT l.id, r.id AS r FROM l ASOF LEFT JOIN ${right} r ON ${on} WHERE r.id IS NULL ORDER BY 1`,
      (right: string) =>
        `SELECT l.k, count(*) AS n, sum(r.v) AS s FROM l ASOF JOIN ${right} r ON ${on} GROUP BY l.k ORDER BY l.k`,
      (right: string) =>
        `SELECT l.id, r.id AS r, q.id AS q FROM l ASOF JOIN ${right} r ON ${on} ASOF LEFT JOIN ${right} q ON l.k = q.k AND r.t < q.t WHERE l.v > 2 ORDER BY l.id`,
      (right: string) =>
        `SELECT l.id, m.v AS m, r.id AS r FROM l JOIN l m ON m.id = l.id + 1 ASOF JOIN ${right} r ON m.k = r.k AND l.t >= r.t WHERE m.v > 1 ORDER BY l.id`,
      (right: string) =>
        `SELECT m.id, l.id AS l, r.id AS r FROM l ASOF JOIN ${right} r ON ${on} RIGHT JOIN l m ON m.id = l.id + 1 WHERE l.v > 1 OR l.v IS NULL ORDER BY m.id, l.id`,
      (right: string) =>
        `SELECT l.id, r.n FROM l ASOF JOIN (SELECT k AS key, t AS at, id AS n FROM ${right} WHERE v > 1) AS r ON l.k = r.key AND l.t > r.at ORDER BY l.id`,
      (right: string) =>
        `WITH w AS (SELECT k, t, v * 2 AS v FROM ${right}) SELECT l.id, w.v FROM l ASOF JOIN w ON l.k = w.k AND l.t <= w.t ORDER BY l.id`,
      (right: string) =>
        `SELECT o.id, (SELECT r.id FROM l ASOF JOIN ${right} r ON ${on} WHERE l.id = o.id) AS r FROM l o ORDER BY o.id`,
      (right: string) =>
        `SELECT o.id, (SELECT max(r.id) FROM l ASOF JOIN ${right} r ON ${on} WHERE l.j = o.j) AS r FROM l o WHERE o.id < 30 ORDER BY o.id`,
      (right: string) =>
        `SELECT o.id, (SELECT max(q.id) FROM l ASOF JOIN (SELECT id, k, t FROM ${right} x WHERE x.v <> o.v) AS q ON l.k = q.k AND l.t >= q.t) AS r FROM l o WHERE o.id < 3 ORDER BY o.id`,
      (right: string) =>
        `SELECT l.id FROM l ASOF JOIN ${right} r ON ${on} WHERE l.v IN (SELECT v FROM l WHERE id < 9) UNION SELECT r.id FROM l ASOF JOIN ${right} r ON ${on} WHERE l.v > 5 ORDER BY 1`,
      (right: string) =>
        `SELECT l.id, r.id AS r, row_number() OVER (PARTITION BY r.id ORDER BY l.id) AS n FROM l ASOF JOIN ${right} r ON l.k = r.k AND l.j + 1 = r.j AND l.t + 2 >= r.t ORDER BY l.id`,
    ]) {
      const [indexed, plain, filtered] = await Promise.all(
        ['indexed', 'plain', 'filtered'].map(async (right) => (await run(statement(right))).Rows),
      )
      assert.ok((indexed?.length ?? 0) > 0, statement('indexed'))
      assert.deepEqual(plain, indexed, statement('plain'))
      assert.deepEqual(filtered, indexed, statement('filtered'))
    }
  })

  test('without an index both sides are sorted once', async () => {
    const { Rows } = await run(
      'SELECT count(*) AS n, sum(o.v) AS s FROM many m ASOF JOIN others o ON m.k = o.k AND m.t > o.t',
    )
    assert.equal(Rows[0]?.n, MANY - 1)
  })

  test('EXPLAIN names the index that is used, or missing', async () => {
    const explain = async (right: string, where = '') => {
      const join = `FROM l ASOF JOIN ${right} r ON l.k = r.k AND l.j = r.j AND l.t >= r.t`
      return (await run(`EXPLAIN SELECT l.id ${join} ${where}`)).Rows.map((row) => Object.values(row).join(''))
    }
    assert.deepEqual(await explain('indexed', 'WHERE l.id = 7 AND r.v > 0'), [
      'asof join, filtered',
      '  find in l by id',
      '  find in indexed the closest t by index on j, k, t',
    ])
    assert.deepEqual(await explain('plain'), [
      'asof join',
      '  sort both sides together (no index on plain (k, j, t))',
      '    read l',
      '    read plain',
    ])
    assert.deepEqual(await explain('plain', 'WHERE l.id = 7'), [
      'asof join',
      '  read the right side for the one row of the left (no index on plain (k, j, t))',
      '    find in l by id',
      '    read plain',
    ])
  })

  test('the error of a time limit names the tables that are read whole, and the missing index', async () => {
    const hasty = await startQueryServer(place(), { limits: { milliseconds: 300 } })
    try {
      const slow = 'SELECT count(*) FROM many m ASOF JOIN others o ON m.t > o.t JOIN many n ON n.v + m.v > o.v'
      const { status, json } = await hasty.query(slow)
      assert.equal(status, 408)
      assert.match(
        json.detail,
        /query_seconds\)\. It reads all rows of many and others; its ASOF JOIN has no index on others \(t\)$/,
      )
    } finally {
      await hasty.stop()
    }
  })
})

/** Few keys and times, so that there are many ties; some are NULL. */
function makeRows(choice: Choice, count: number): Row[] {
  return Array.from({ length: count }, (_, id) => ({
    id,
    k: choice.oneIn(10) ? null : choice.of(['A', 'B', 'a']),
    j: choice.oneIn(10) ? null : choice.below(3),
    t: choice.oneIn(10) ? null : choice.below(30) - 10,
    v: choice.below(20) - 5,
  }))
}

interface Join {
  readonly operator: '>=' | '>' | '<=' | '<'
  readonly keys: readonly ('k' | 'j')[]
  readonly outer: boolean
}

function joinNaively(lefts: readonly Row[], rights: readonly Row[], { operator, keys, outer }: Join): unknown[] {
  const compare = (a: number, b: number) =>
    operator === '>=' ? a >= b : operator === '>' ? a > b : operator === '<=' ? a <= b : a < b
  return lefts.flatMap((left) => {
    let closest: (Row & { t: number }) | undefined
    for (const right of rights) {
      const { t } = right
      if (t === null || left.t === null || !compare(left.t, t)) continue
      if (!keys.every((key) => left[key] !== null && left[key] === right[key])) continue
      const isCloser = closest === undefined || (operator.startsWith('>') ? t > closest.t : t < closest.t)
      if (isCloser || (t === closest?.t && right.id < closest.id)) closest = { ...right, t }
    }
    if (closest === undefined && !outer) return []
    return [{ l: left.id, r: closest?.id ?? null, v: closest?.v ?? null }]
  })
}

/** Views: they run with the caller's rights, never break, and changes of them reach every node, plan and live statement. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngine, shortOnSqlite } from '../support/engines.ts'
import { type EventClient, openEvents } from '../support/event-client.ts'
import { createLocalBus } from '../support/local-bus.ts'
import { soon, until } from '../support/until.ts'
import { type QueryServer, type Reply, startQueryServer } from './query-server.ts'

onEveryEngine('views', (place, engine) => {
  const bus = createLocalBus()
  const opened: EventClient[] = []
  let server: QueryServer
  let other: QueryServer
  before(async () => {
    server = await startQueryServer(place(), { bus })
    other = await startQueryServer(place(), { bus })
    await run(
      `CREATE TABLE secret (id Integer PRIMARY KEY, v Text) READ SCOPE 'Platform/Trading'`,
      `CREATE TABLE open (id Integer PRIMARY KEY, v Text)`,
      `CREATE TABLE orders (id Integer PRIMARY KEY, owner Text NOT NULL, qty Integer NOT NULL) ROW FILTER (owner = :sub OR 'operator' IN (:role))`,
      `INSERT INTO secret VALUES (1, 'hidden')`,
      `INSERT INTO open VALUES (1, 'seen'), (2, 'seen too')`,
      `INSERT INTO orders VALUES (1, 'market', 10), (2, 'trader', 20), (3, 'trader', 30)`,
      // A name that no other name is similar to, so that hints do not differ.
      `CREATE VIEW hushed AS SELECT * FROM secret`,
      `CREATE VIEW xylophone AS SELECT o.v FROM open o JOIN hushed h ON h.id = o.id`,
      `CREATE VIEW mine AS SELECT id, owner, qty * 2 AS twice FROM orders`,
      `CREATE VIEW trading READ SCOPE 'Platform/Trading' COMMENT 'For traders' AS SELECT id, v FROM open`,
    )
  })
  after(async () => {
    for (const client of opened) client.close()
    await Promise.all([server.stop(), other.stop()])
    await bus.close()
  })

  const run = async (...statements: readonly string[]): Promise<void> => {
    for (const statement of statements) {
      const reply = await server.query(statement)
      assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    }
  }
  const refused = async (statement: string, code: string, as = 'admin'): Promise<Reply> => {
    const reply = await server.query(statement, { as })
    assert.equal(reply.json.Code, code, `${statement}: ${reply.text}`)
    return reply
  }
  const rows = async (statement: string, as = 'admin', node = server): Promise<readonly Record<string, unknown>[]> => {
    const reply = await node.query(statement, { as })
    assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    return reply.json.Rows
  }

  const WAYS = [
    'SELECT * FROM $',
    'SELECT o.v FROM open o JOIN $ s ON true',
    'SELECT o.v FROM open o ASOF JOIN $ s ON o.id >= s.id',
    'SELECT v FROM open WHERE EXISTS (SELECT 1 FROM $)',
    'WITH s AS (SELECT * FROM $) SELECT v FROM open',
    'EXPLAIN SELECT * FROM $',
    'EXPLAIN LIVE SELECT * FROM $',
    'DESCRIBE $',
    'SHOW COLUMNS FROM $',
    "INSERT INTO $ VALUES (2, 'x')",
    'DROP TABLE $',
    'DROP VIEW $',
    "ALTER VIEW $ SET COMMENT 'x'",
    'CREATE VIEW another AS SELECT * FROM $',
  ]

  test('a view over a table that the caller may not read does not exist for the caller', async () => {
    const neutral = ({ text }: Reply): string =>
      text
        .replaceAll(/hushed|xylophone|trading|qqqqqqq/g, '…')
        .replaceAll(/"RequestId":"[^"]*"|"Position":\{[^}]*\}/g, '')
    for (const view of ['hushed', 'xylophone', 'trading'])
      for (const way of WAYS) {
        const forbidden = await server.query(way.replace('$', view), { as: 'market' })
        const absent = await server.query(way.replace('$', 'qqqqqqq'), { as: 'market' })
        assert.equal(neutral(forbidden), neutral(absent), `${way} of ${view}`)
        // Who may define sees the definition, and reads nothing.
        if (/^(DESCRIBE|SHOW|DROP|ALTER)/.test(way)) continue
        const { text } = await refused(way.replace('$', view), 'IQL.Forbidden', 'definer')
        assert.match(text, /needs the scope Platform\/Trading"/)
        assert.doesNotMatch(text, /hidden|seen/)
      }
    assert.deepEqual(
      (await rows('DESCRIBE hushed', 'definer')).map(({ name }) => name),
      ['id', 'v'],
    )
    const named = `SELECT name FROM cataloguetables WHERE isview AND name IN ('hushed', 'xylophone', 'trading')`
    assert.equal((await rows(named, 'definer')).length, 3)
    for (const call of ['/query/hushed/select', '/query/qqqqqqq/select'])
      assert.equal((await server.call(call, [], { as: 'market' })).json.Code, 'Data.UnknownTable')
    for (const statement of [
      'SELECT * FROM hushe',
      'SELECT * FROM xylophon',
      'SHOW TABLES',
      'SELECT * FROM cataloguetables',
      'SELECT * FROM cataloguecolumns',
      'SELECT * FROM CatalogueTable',
    ])
      assert.doesNotMatch((await server.query(statement, { as: 'market' })).text, /"(hushed|xylophone|trading)"|mean/)
    for (const path of ['/catalogue/tables', '/catalogue/tables?prefix=hush', '/catalogue/tables/hushed'])
      assert.doesNotMatch((await get(path, 'market')).text, /"(hushed|xylophone|trading)"/)
    assert.deepEqual(await rows('SELECT v FROM hushed', 'trader'), [{ v: 'hidden' }])
    assert.deepEqual(await rows('SELECT v FROM xylophone', 'trader'), [{ v: 'seen' }])
    const seen = await rows('SELECT name, readscope FROM cataloguetables WHERE isview ORDER BY name', 'trader')
    assert.deepEqual(
      seen.map(({ name }) => name),
      ['hushed', 'mine', 'trading', 'xylophone'],
    )
  })

  const get = async (path: string, as: string) => {
    const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${as}` } })
    const text = await response.text()
    return { status: response.status, text, json: JSON.parse(text) as Record<string, unknown> }
  }

  test('row filters of the tables apply to the caller, not to the author of the view', async () => {
    assert.deepEqual(await rows('SELECT id, twice FROM mine ORDER BY id', 'market'), [{ id: 1, twice: 20 }])
    assert.deepEqual(await rows('SELECT id, twice FROM mine ORDER BY id', 'trader'), [
      { id: 2, twice: 40 },
      { id: 3, twice: 60 },
    ])
    assert.equal((await rows('SELECT id FROM mine')).length, 3)
    // The plan is shared by callers with the same scopes; the rows are not.
    assert.deepEqual(await rows('SELECT id FROM mine WHERE id = 1', 'service'), [])
    assert.deepEqual(await rows('SELECT id FROM mine WHERE id = 1', 'market'), [{ id: 1 }])
  })

  test('the rights of a view follow those of its tables', shortOnSqlite(engine), async () => {
    await run(
      'CREATE TABLE late (id Integer)',
      'CREATE VIEW later AS SELECT id FROM late',
      'CREATE VIEW latest2 AS SELECT id FROM later',
    )
    assert.deepEqual(await rows('SELECT * FROM latest2', 'news'), [])
    await run(`ALTER TABLE late SET READ SCOPE 'Platform/Market'`)
    for (const node of [server, other]) {
      const read = async (): Promise<unknown[]> => [
        (await node.query('SELECT * FROM latest2', { as: 'news' })).json.Code,
        (await rows(`SELECT name FROM cataloguetables WHERE name LIKE 'late%'`, 'news', node)).length,
      ]
      await soon(read, ['IQL.UnknownTable', 0])
    }
    await run('ALTER TABLE late SET READ SCOPE NULL', `ALTER VIEW later SET READ SCOPE 'Platform/Market'`)
    assert.deepEqual(await rows(`SELECT name FROM cataloguetables WHERE name LIKE 'late%'`, 'news'), [{ name: 'late' }])
    await run('DROP VIEW latest2', 'DROP VIEW later', 'DROP TABLE late')
  })

  test('defining a view needs Platform/Admin, and reading its tables', shortOnSqlite(engine), async () => {
    for (const statement of ['CREATE VIEW w AS SELECT 1 AS one', 'DROP VIEW mine', "ALTER VIEW mine SET COMMENT 'x'"])
      await refused(statement, 'IQL.Forbidden', 'trader')
    await refused('CREATE VIEW w AS SELECT * FROM secret', 'IQL.Forbidden', 'definer')
    assert.equal((await rows("SELECT name FROM cataloguetables WHERE name = 'w'")).length, 0)
  })

  test(
    'what a view uses cannot be dropped or changed so that the view breaks; the error names the views',
    shortOnSqlite(engine),
    async () => {
      await run('CREATE TABLE base (id Integer PRIMARY KEY, a Text, b Text, c Text)')
      await run(
        'CREATE VIEW over_a AS SELECT id, a FROM base',
        `CREATE VIEW over_b READ SCOPE 'Platform/Trading' AS SELECT b FROM base`,
      )
      const drop = await refused('DROP TABLE base', 'Data.InUse')
      assert.match(drop.json.detail, /over_a, over_b/)
      const hidden = await refused('DROP TABLE base', 'Data.InUse', 'definer')
      assert.match(hidden.json.detail, /over_a, over_b/)
      assert.equal(
        (await server.call('/query/CatalogueTable/delete', [{ column: 'name', operator: 'eq', value: 'base' }]))
          .status >= 400,
        true,
      )
      await refused(`DELETE FROM CatalogueTable WHERE name = 'base'`, 'Data.InUse')
      assert.match((await refused('ALTER TABLE base DROP COLUMN a', 'Data.InUse')).json.detail, /view over_a:/)
      assert.match((await refused('ALTER TABLE base RENAME COLUMN b TO bb', 'Data.InUse')).json.detail, /view over_b:/)
      await run(
        'ALTER TABLE base DROP COLUMN c',
        'ALTER TABLE base ADD COLUMN d Text',
        'ALTER TABLE base RENAME COLUMN d TO e',
      )
      // A new column that would make a name in a view ambiguous.
      await run('CREATE VIEW joined AS SELECT b, v FROM base JOIN open ON open.id = base.id')
      await refused('ALTER TABLE base ADD COLUMN v Text', 'Data.InUse')
      await run('DROP VIEW joined', 'DROP VIEW over_a', 'DROP VIEW over_b', 'DROP TABLE base')
    },
  )

  test('a table and a view over it that are changed at the same time on two nodes do not break each other', async () => {
    for (let round = 0; round < 5; round++) {
      await run('CREATE TABLE race (id Integer)')
      const replies = await Promise.all([
        server.query('CREATE VIEW racing AS SELECT id FROM race'),
        other.query('DROP TABLE race'),
      ])
      const codes = replies.map(({ status, json }) => (status === 200 ? 'done' : json.Code))
      assert.equal(codes.filter((code) => code === 'done').length, 1, codes.join())
      if (codes[0] === 'done') await run('DROP VIEW racing', 'DROP TABLE race')
      else await until('this node knows', 1000, async () => (await server.query('DESCRIBE race')).status !== 200)
    }
  })

  test(
    'views cannot use themselves, not even when two nodes replace two views at the same time',
    shortOnSqlite(engine),
    async () => {
      await run('CREATE VIEW ping AS SELECT 1 AS id', 'CREATE VIEW pong AS SELECT id FROM ping')
      await refused('CREATE OR REPLACE VIEW ping AS SELECT id FROM ping', 'IQL.BadDefinition')
      await refused('CREATE OR REPLACE VIEW ping AS SELECT id FROM pong', 'IQL.BadDefinition')
      await run('CREATE OR REPLACE VIEW pong AS SELECT 2 AS id')
      const [first, second] = await Promise.all([
        server.query('CREATE OR REPLACE VIEW ping AS SELECT id FROM pong'),
        other.query('CREATE OR REPLACE VIEW pong AS SELECT id FROM ping'),
      ])
      assert.equal([first, second].filter(({ status }) => status === 200).length, 1, `${first.text} ${second.text}`)
      for (const view of ['ping', 'pong']) assert.equal((await rows(`SELECT id FROM ${view}`)).length, 1)
      const names = first.status === 200 ? ['ping', 'pong'] : ['pong', 'ping']
      await run(...names.map((name) => `DROP VIEW ${name}`))
    },
  )

  test('a chain of views that doubles at each level is refused', shortOnSqlite(engine), async () => {
    const chains = [
      ['join', (v: string) => `SELECT a.id FROM ${v} a JOIN ${v} b ON a.id = b.id`],
      ['union', (v: string) => `SELECT id FROM ${v} UNION ALL SELECT id FROM ${v}`],
      ['sub-query', (v: string) => `SELECT id FROM ${v} WHERE id IN (SELECT id FROM ${v})`],
      ['with', (v: string) => `WITH w AS (SELECT id FROM ${v}) SELECT a.id FROM w a WHERE EXISTS (SELECT 1 FROM ${v})`],
    ] as const
    for (const [name, query] of chains) {
      await run(`CREATE VIEW d0 AS SELECT id FROM open`)
      let level = 0
      for (;;) {
        const reply = await server.query(`CREATE VIEW d${level + 1} AS ${query(`d${level}`)}`)
        if (reply.status !== 200) {
          assert.equal(reply.json.Code, 'IQL.TooComplex', reply.text)
          break
        }
        level++
        // It is bound as far as a limit, and no further: 2^40 queries would never end.
        assert.ok(level < 40, name)
      }
      assert.equal((await server.query(`EXPLAIN SELECT count(*) AS n FROM d${level}`)).status, 200)
      for (let at = level; at >= 0; at--) await run(`DROP VIEW d${at}`)
    }
  })

  test(
    'replacing a view by a larger one is refused if a view over it would become too complex',
    shortOnSqlite(engine),
    async () => {
      const joins = Array.from({ length: 8 }, (_item, index) => `JOIN open j${index} ON j${index}.id = o.id`).join(' ')
      await run(
        'CREATE VIEW small AS SELECT id FROM open',
        `CREATE VIEW twice AS SELECT a.id FROM small a JOIN small b ON a.id = b.id`,
      )
      await refused(`CREATE OR REPLACE VIEW small AS SELECT o.id FROM open o ${joins}`, 'Data.InUse')
      await run('DROP VIEW twice', `CREATE OR REPLACE VIEW small AS SELECT o.id FROM open o ${joins}`)
      await refused('SELECT a.id FROM small a JOIN small b ON a.id = b.id', 'IQL.TooComplex')
      await run('DROP VIEW small')
    },
  )

  test(
    'a deep statement over a deep chain of views runs or is refused, and never fails otherwise',
    shortOnSqlite(engine),
    async () => {
      const deep = (from: string, levels: number): string =>
        Array.from({ length: levels }).reduce<string>(
          (inner, _item, at) => `SELECT id FROM (${inner}) AS n${at}`,
          `SELECT id FROM ${from}`,
        )
      await run(`CREATE VIEW deep1 AS ${deep('open', 25)}`, `CREATE VIEW deep2 AS ${deep('deep1', 25)}`)
      assert.equal((await rows(deep('deep2', 8))).length, 2)
      await refused(deep('deep2', 40), 'IQL.TooComplex')
      await run('DROP VIEW deep2', 'DROP VIEW deep1')
    },
  )

  test(
    'plans by text, by shape and by key follow a view that is replaced on another node',
    shortOnSqlite(engine),
    async () => {
      await run('CREATE VIEW chosen AS SELECT id, v FROM open WHERE id = 1')
      const ask = async (node: QueryServer, statement: string): Promise<unknown> => {
        const { json } = await node.query(statement, { as: 'market' })
        return json.Rows ?? json.Code
      }
      const read = async (node: QueryServer) => [
        await ask(node, 'SELECT v FROM chosen'),
        await ask(node, 'SELECT v FROM chosen WHERE id = 1'),
        await ask(node, 'SELECT v FROM chosen WHERE id = 2'),
        (await node.call('/query/chosen/select?columns=v', [], { as: 'market' })).json.Rows,
      ]
      const [one, two] = [[{ v: 'seen' }], [{ v: 'seen too' }]]
      const everyNode = async (expected: readonly unknown[]): Promise<void> => {
        assert.deepEqual(await read(server), expected)
        await soon(() => read(other), expected)
      }
      await everyNode([one, one, [], one])
      await run('CREATE OR REPLACE VIEW chosen AS SELECT id, v FROM open WHERE id = 2')
      await everyNode([two, [], two, two])
      await run('DROP VIEW chosen')
      const unknown = 'IQL.UnknownTable'
      await everyNode([unknown, unknown, unknown, undefined])
      // The name of a view can become that of a table.
      await run('CREATE TABLE chosen (id Integer PRIMARY KEY, v Text)', `INSERT INTO chosen VALUES (2, 'of the table')`)
      const row = [{ v: 'of the table' }]
      await everyNode([row, [], row, row])
      await run('DROP TABLE chosen')
    },
  )

  test('a live statement over a view follows its tables, a new definition of the view, and its end', async () => {
    await run('CREATE TABLE ticks (id Integer PRIMARY KEY, p Integer)', 'INSERT INTO ticks VALUES (1, 10)')
    await run('CREATE VIEW high AS SELECT id, p FROM ticks WHERE p > 5')
    const client = await openEvents(`${server.url}/query`, {
      token: 'market',
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: 'SELECT id, p FROM high',
    })
    opened.push(client)
    const until = async (kind: string) => {
      for (;;) {
        const event = await client.next()
        if (event.event === kind) return JSON.stringify(event.data)
      }
    }
    assert.match(await until('snapshot'), /\[?1,10|"id":1,"p":10/)
    await run('INSERT INTO ticks VALUES (2, 20), (3, 3)')
    const change = await until('change')
    assert.match(change, /20/)
    assert.doesNotMatch(change, /"p":3\b|3,3/)
    const replaced = await other.query('CREATE OR REPLACE VIEW high AS SELECT id, p FROM ticks WHERE p < 5')
    assert.equal(replaced.status, 200, replaced.text)
    assert.match(await until('reset'), /Definition/)
    assert.match(await until('snapshot'), /3/)
    await run('DROP VIEW high')
    assert.match(await until('end'), /IQL.UnknownTable/)
    await run('DROP TABLE ticks')
  })

  test('the calls of a table read a view, and refuse to write to it', shortOnSqlite(engine), async () => {
    const page = await server.call('/query/mine/select?orderby=-id&limit=2', [])
    assert.deepEqual(
      page.json.Rows.map(({ id }) => id),
      [3, 2],
    )
    for (const [call, body] of [
      ['insert', [{ id: 9 }]],
      ['update', { Set: { id: 9 }, Where: [] }],
      ['delete', []],
    ] as const) {
      const reply = await server.call(`/query/mine/${call}`, body)
      assert.ok(reply.status === 403 || reply.status === 400, `${call}: ${reply.text}`)
    }
    const { json } = await get('/catalogue/tables/mine', 'market')
    assert.equal(json.isview, true)
    assert.equal(json.view, 'SELECT id, owner, qty * 2 AS twice FROM orders')
    assert.deepEqual(json.rights, ['select'])
    const shown = await rows('SHOW TABLES', 'market')
    assert.deepEqual(
      shown.filter(({ isview }) => isview === true).map(({ name }) => name),
      ['mine'],
    )
  })

  test('a server that starts again has the views', shortOnSqlite(engine), async () => {
    const again = await startQueryServer(place(), { bus })
    assert.deepEqual(await rows('SELECT id, twice FROM mine', 'market', again), [{ id: 1, twice: 20 }])
    await again.stop()
  })
})

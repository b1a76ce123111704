/** Live queries over real engines: snapshots, changes by each method, families, rates, resumes, rights, definitions, limits. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { Refusal } from 'gatehouse-protocol'
import pg from 'pg'
import { deriveKey } from '../../support/derived-key.ts'
import { onEveryEngine, shortOnSqlite } from '../../support/engines.ts'
import { createLocalBus } from '../../support/local-bus.ts'
import { CALLERS, caller, type QueryServer, startQueryServer } from '../query-server.ts'
import { Applier } from './applier.ts'
import { LiveClient } from './live-client.ts'
import { openPosition } from './open-position.ts'

onEveryEngine('live queries', (place, engine) => {
  const bus = createLocalBus()
  let server: QueryServer
  let time = Date.parse('2026-01-01T00:00:00Z')

  before(async () => {
    server = await startQueryServer(place(), { bus, clock: () => time, liveLimits: { progressMs: 400, rows: 1000 } })
  })
  after(async () => {
    await server.stop()
    await bus.close()
  })

  afterEach(() => LiveClient.closeAll())

  const run = async (...statements: readonly string[]): Promise<void> => {
    for (const statement of statements) {
      const reply = await server.query(statement)
      assert.equal(reply.status, 200, `${statement}: ${reply.text}`)
    }
  }
  const metric = (name: string, labels = ''): number => {
    const line = server.metrics
      .render()
      .split('\n')
      .find((line) => line.startsWith(`${name}${labels} `))
    return Number(line?.split(' ').at(-1) ?? 'NaN')
  }
  const refusedAs = (code: string) => (error: unknown) => error instanceof Refusal && error.code === code

  test('keys: a snapshot, then whatever changes in it', async () => {
    await run(
      'CREATE TABLE k (id Integer PRIMARY KEY, v Integer NOT NULL, t Text)',
      `INSERT INTO k VALUES (1, 1, 'a'), (2, 5, 'b')`,
    )
    const client = await LiveClient.follow(server, 'SELECT v, t FROM k WHERE v > 2')
    assert.deepEqual(client.applier.head.Method, 'keys')
    assert.deepEqual(client.applier.head.Key, ['id'])
    assert.deepEqual(Object.keys(client.applier.head.Columns ?? {}), ['v', 't'])
    await client.holds([{ v: 5, t: 'b' }])
    await run('UPDATE k SET v = 7 WHERE id = 1')
    await client.holds([
      { v: 5, t: 'b' },
      { v: 7, t: 'a' },
    ])
    await run('UPDATE k SET v = 0 WHERE id = 2', `INSERT INTO k VALUES (3, 9, 'c')`)
    await client.holds([
      { v: 7, t: 'a' },
      { v: 9, t: 'c' },
    ])
    await run('DELETE FROM k WHERE id = 3')
    await client.holds([{ v: 7, t: 'a' }])
    assert.deepEqual(client.applier.keys, ['[1]'])
    await run('UPDATE k SET id = 11 WHERE id = 1')
    await client.until('the key changes', () => client.applier.keys.join() === '[11]')
    assert.equal(client.applier.seen.Reset, 0)
    client.close()
    await run('DELETE FROM k ALL')
  })

  test('rerun: groups, joins without keys, and an order with a limit', async () => {
    await run(
      'CREATE TABLE r (id Integer PRIMARY KEY, s Text NOT NULL, v Integer NOT NULL)',
      'CREATE TABLE names (s Text PRIMARY KEY, name Text NOT NULL)',
      `INSERT INTO r VALUES (1, 'A', 1), (2, 'B', 2), (3, 'A', 3)`,
      `INSERT INTO names VALUES ('A', 'Alpha'), ('B', 'Beta')`,
    )
    const groups = await LiveClient.follow(server, 'SELECT s, sum(v) AS total FROM r GROUP BY s')
    const joined = await LiveClient.follow(server, 'SELECT name FROM r JOIN names ON names.s = r.s')
    const top = await LiveClient.follow(server, 'SELECT id, v FROM r ORDER BY v DESC LIMIT 2')
    const count = await LiveClient.follow(server, 'SELECT count(*) AS n FROM r')
    assert.deepEqual(
      [groups, joined, top, count].map(({ applier }) => [applier.head.Method, applier.head.Key]),
      [
        ['rerun', ['s']],
        ['rerun', null],
        ['rerun', ['id']],
        ['rerun', []],
      ],
    )
    await joined.holds([{ name: 'Alpha' }, { name: 'Alpha' }, { name: 'Beta' }])
    await top.holds(
      [
        { id: 3, v: 3 },
        { id: 2, v: 2 },
      ],
      'in order',
    )
    await run(`INSERT INTO r VALUES (4, 'A', 4)`)
    await groups.holds([
      { s: 'A', total: '8' },
      { s: 'B', total: '2' },
    ])
    await joined.holds([{ name: 'Alpha' }, { name: 'Alpha' }, { name: 'Alpha' }, { name: 'Beta' }])
    await top.holds(
      [
        { id: 4, v: 4 },
        { id: 3, v: 3 },
      ],
      'in order',
    )
    await count.holds([{ n: 4 }])
    await run(`UPDATE names SET name = 'First' WHERE s = 'A'`)
    await joined.holds([{ name: 'First' }, { name: 'First' }, { name: 'First' }, { name: 'Beta' }])
    await run('UPDATE r SET v = 9 WHERE id = 3')
    await top.holds(
      [
        { id: 3, v: 9 },
        { id: 4, v: 4 },
      ],
      'in order',
    )
    assert.deepEqual(top.applier.seen.Reset, 0)
    const [last] = top.texts.slice(-1)
    assert.equal(JSON.parse(last ?? '').Put.length, 1, 'a row that only shifts is not sent')
    for (const client of [groups, joined, top, count]) client.close()
  })

  test('clock: a statement with now() changes without any write', async () => {
    await run(
      'CREATE TABLE due (id Integer PRIMARY KEY, at Timestamp NOT NULL)',
      `INSERT INTO due VALUES (1, '2026-01-01T00:00:30Z')`,
    )
    const client = await LiveClient.follow(server, 'SELECT id FROM due WHERE at <= now()')
    assert.equal(client.applier.head.Method, 'clock')
    assert.equal(client.applier.size, 0)
    time += 60_000
    await client.holds([{ id: 1 }])
    client.close()
  })

  test('system tables are followed through the catalogue', shortOnSqlite(engine), async () => {
    const client = await LiveClient.follow(server, `SELECT name FROM cataloguetables WHERE name = 'appears'`)
    await run('CREATE TABLE appears (id Integer PRIMARY KEY)')
    await client.holds([{ name: 'appears' }])
    client.close()
  })

  test(
    'every state of a system table has a different position, and each can be resumed from',
    shortOnSqlite(engine),
    async () => {
      const statement = `SELECT name, description FROM cataloguetables WHERE name = 'described'`
      const joined = `SELECT c.name, c.description, p.id FROM cataloguetables c JOIN described p ON c.name = 'described'`
      await run("CREATE TABLE described (id Integer PRIMARY KEY) COMMENT '0'", 'INSERT INTO described VALUES (1)')
      for (const text of [statement, joined]) {
        const client = await LiveClient.follow(server, text)
        const held: { readonly position: string; readonly applier: Applier }[] = []
        const keep = () =>
          held.push({ position: client.applier.position ?? '', applier: Applier.resumed(client.applier) })
        const shown = (description: string) => [
          { name: 'described', description, ...(text === joined ? { id: 1 } : {}) },
        ]
        keep()
        for (const description of ['1', '2', '3']) {
          await run(`ALTER TABLE described SET COMMENT '${description}'`)
          await client.holds(shown(description))
          keep()
        }
        assert.equal(new Set(held.map(({ position }) => position)).size, held.length)
        for (const [index, { applier }] of held.entries()) {
          const again = await LiveClient.follow(server, text, { from: applier })
          await again.holds(shown('3'))
          assert.deepEqual([again.applier.recovered, again.applier.seen.Reset], [true, 0], `state ${index}`)
          again.close()
        }
        client.close()
        // Nobody has followed it since: what has changed is not known.
        const late = await LiveClient.open(server, text, { from: held[1]?.applier ?? new Applier() })
        await late.until('a snapshot', () => late.applier.isWhole && late.texts.length > 0)
        assert.deepEqual([late.applier.rows, late.applier.reasons], [shown('3'), ['Expired']])
        late.close()
        await run("ALTER TABLE described SET COMMENT '0'")
      }
    },
  )

  test('a position reveals nothing about rows that the caller is not allowed to see', async () => {
    await run('CREATE TABLE hidden (id Integer PRIMARY KEY, owner Text NOT NULL) ROW FILTER (owner = :sub)')
    const statement = 'SELECT id FROM hidden'
    const client = await LiveClient.follow(server, statement, { as: 'trader' })
    const told = async (): Promise<string> => {
      const other = await LiveClient.follow(server, statement, { as: 'trader' })
      other.close()
      return other.applier.position ?? ''
    }
    const before = openPosition(await told(), deriveKey).tables
    const texts = new Set<string>()
    const began = performance.now()
    for (let round = 0; round < 12; round++) {
      await run(`INSERT INTO hidden VALUES (${round}, 'admin')`)
      texts.add(await told())
    }
    const seconds = (performance.now() - began) / 1000
    assert.ok(texts.size <= seconds + 2, `${texts.size} positions in ${seconds} s: it changes once a second`)
    // It moves on, whether or not something is written, and is resumed at.
    await client.until('a later Progress', () => !texts.has(client.applier.position ?? '') && client.applier.isWhole)
    const after = openPosition(client.applier.position ?? '', deriveKey).tables
    assert.notEqual(after, before)
    assert.ok(!Buffer.from(client.applier.position ?? '', 'base64url').includes(after), 'it is sealed')
    const again = await LiveClient.follow(server, statement, { as: 'trader', resumes: client })
    assert.equal(again.applier.recovered, true)
    for (const one of [client, again]) one.close()
  })

  test('a table without a log is followed through the commits of all nodes', async () => {
    await run('CREATE TABLE quiet (id Integer PRIMARY KEY) WITH (live = off)')
    const client = await LiveClient.follow(server, 'SELECT id FROM quiet')
    assert.equal(client.applier.head.Method, 'rerun')
    await run('INSERT INTO quiet VALUES (1)')
    await client.holds([{ id: 1 }])
    if (engine === 'postgres') {
      const other = await startQueryServer(place(), { bus, clock: () => time })
      try {
        const there = await LiveClient.follow(other, 'SELECT id FROM quiet')
        await run('INSERT INTO quiet VALUES (2)')
        await there.holds([{ id: 1 }, { id: 2 }])
        there.close()
        // Nobody listens there now.
        await run('INSERT INTO quiet VALUES (3)')
        const again = await LiveClient.follow(other, 'SELECT id FROM quiet', { resumes: there })
        await again.holds([{ id: 1 }, { id: 2 }, { id: 3 }])
      } finally {
        await other.stop()
      }
    }
    client.close()
  })

  test('a hundred values are one family, and a row finds its way from one to another', async () => {
    await run('CREATE TABLE f (id Integer PRIMARY KEY, s Text NOT NULL, v Integer NOT NULL)')
    const values = Array.from({ length: 100 }, (_, index) => `S${index}`)
    await run(`INSERT INTO f VALUES ${values.map((s, id) => `(${id}, '${s}', 0)`).join(', ')}`)
    const clients = await Promise.all(
      values.map((s) => LiveClient.follow(server, 'SELECT id, v FROM f WHERE s = :s', { parameters: { s } })),
    )
    const [first, second] = clients
    assert.ok(first !== undefined && second !== undefined)
    assert.equal(metric('gatehouse_live_families'), 1)
    const before = metric('gatehouse_live_evaluations_total', '{method="keys"}')
    await run('UPDATE f SET v = 1 ALL')
    await Promise.all(clients.map((client, id) => client.holds([{ id, v: 1 }])))
    const evaluations = metric('gatehouse_live_evaluations_total', '{method="keys"}') - before
    assert.ok(evaluations <= 5, `${evaluations} evaluations for a hundred statements`)
    await run(`UPDATE f SET s = 'S1' WHERE id = 0`)
    await first.holds([])
    await second.holds([
      { id: 0, v: 1 },
      { id: 1, v: 1 },
    ])
    const none = await LiveClient.follow(server, 'SELECT id, v FROM f WHERE s = :s', { parameters: { s: null } })
    assert.equal(none.applier.size, 0)
    await run(`INSERT INTO f VALUES (1000, 'S0', 5)`)
    await first.holds([{ id: 1000, v: 5 }])
    assert.equal(none.applier.size, 0)
    for (const client of [...clients, none]) client.close()
  })

  test('members that join while rows move miss nothing', async () => {
    await run('CREATE TABLE j (id Integer PRIMARY KEY, s Text NOT NULL)', `INSERT INTO j VALUES (1, 'A'), (2, 'B')`)
    const a = await LiveClient.follow(server, 'SELECT id FROM j WHERE s = :s', { parameters: { s: 'A' }, maxRate: 5 })
    const moving = run(`UPDATE j SET s = 'B' WHERE id = 1`)
    const b = await LiveClient.follow(server, 'SELECT id FROM j WHERE s = :s', { parameters: { s: 'B' }, maxRate: 5 })
    await moving
    await Promise.all([a.holds([]), b.holds([{ id: 1 }, { id: 2 }])])
    await run(`UPDATE j SET s = 'A' WHERE id = 2`)
    await Promise.all([a.holds([{ id: 2 }]), b.holds([{ id: 1 }])])
    a.close()
    b.close()
  })

  test('a commit while the first state is read is not missed', async () => {
    await run('CREATE TABLE z (id Integer PRIMARY KEY, v Integer NOT NULL)', 'INSERT INTO z VALUES (1, 0)')
    let v = 0
    for (let round = 0; round < 30; round++) {
      const statement = round % 2 === 0 ? 'SELECT v FROM z' : 'SELECT max(v) AS v FROM z'
      const opening = LiveClient.follow(server, `${statement} WHERE id < ${round + 2}`)
      // The last commit is the one that a subscriber may miss for as long as there is no other.
      for (let commit = 0; commit <= round % 4; commit++) await run(`UPDATE z SET v = ${++v} WHERE id = 1`)
      const client = await opening
      await client.holds([{ v }])
      client.close()
    }
  })

  test('MaxRate holds for each subscriber, and what lies between is folded', shortOnSqlite(engine), async () => {
    await run('CREATE TABLE m (id Integer PRIMARY KEY, v Integer NOT NULL)', 'INSERT INTO m VALUES (1, 0)')
    const fast = await LiveClient.follow(server, 'SELECT id, v FROM m', { maxRate: 50 })
    const slow = await LiveClient.follow(server, 'SELECT id, v FROM m', { maxRate: 2 })
    const began = performance.now()
    for (let v = 1; v <= 40; v++) {
      await run(`UPDATE m SET v = ${v} WHERE id = 1`)
      await fast.holds([{ id: 1, v }])
    }
    await slow.holds([{ id: 1, v: 40 }])
    const seconds = (performance.now() - began) / 1000
    assert.equal(fast.applier.seen.Change, 40)
    assert.ok(slow.applier.seen.Change <= 2 * seconds + 2, `${slow.applier.seen.Change} changes in ${seconds} s`)
    fast.close()
    slow.close()
  })

  test('a sink that is congested for too long is reset, and other sinks are not', shortOnSqlite(engine), async () => {
    await run('CREATE TABLE o (id Integer PRIMARY KEY, t Text NOT NULL)', `INSERT INTO o VALUES (1, 'start')`)
    const good = await LiveClient.follow(server, 'SELECT t FROM o')
    const slow = await LiveClient.follow(server, 'SELECT t FROM o')
    const brief = await LiveClient.follow(server, 'SELECT t FROM o')
    slow.maySend = false
    const text = 'x'.repeat(8000)
    const write = async (n: number): Promise<void> => {
      await run(`UPDATE o SET t = '${n}${text}' WHERE id = 1`)
      await good.holds([{ t: `${n}${text}` }])
    }
    for (let n = 0; n < 12; n++) await write(n)
    brief.maySend = false
    for (let n = 12; n < 15; n++) await write(n)
    slow.release()
    brief.release()
    await slow.holds([{ t: `14${text}` }])
    await brief.holds([{ t: `14${text}` }])
    assert.deepEqual(
      [slow, brief, good].map(({ applier }) => applier.reasons),
      [['Overflow'], [], []],
    )
    assert.ok(metric('gatehouse_live_resets_total', '{reason="Overflow"}') >= 1)
    for (const client of [good, slow, brief]) client.close()
  })

  test('a client can resume on the same node from the last position or an earlier one, even without subscribers in between', async () => {
    await run(
      'CREATE TABLE p (id Integer PRIMARY KEY, v Integer NOT NULL)',
      'INSERT INTO p VALUES (1, 1), (2, 1), (3, 1)',
    )
    for (const statement of ['SELECT id, v FROM p', 'SELECT id, v FROM p ORDER BY v, id']) {
      const first = await LiveClient.follow(server, statement)
      const rest = await LiveClient.follow(server, statement)
      const early = await LiveClient.follow(server, statement)
      early.close()
      first.close()
      await run('UPDATE p SET v = v + 1 WHERE id = 1')
      await rest.until('the change arrives', () => rest.applier.seen.Change === 1)
      const again = await LiveClient.follow(server, statement, { resumes: first })
      assert.equal(again.applier.recovered, true)
      await again.holds(rest.applier.rows)
      again.close()
      rest.close()
      // Nobody follows it now.
      await run('UPDATE p SET v = v + 1 WHERE id = 2', 'DELETE FROM p WHERE id = 3', 'INSERT INTO p VALUES (4, 9)')
      const later = await LiveClient.follow(server, statement, { resumes: early })
      assert.equal(later.applier.recovered, true)
      assert.equal(later.applier.seen.Reset, 0)
      const fresh = await LiveClient.follow(server, statement)
      await later.holds(fresh.applier.rows, statement.includes('ORDER') ? 'in order' : 'in any order')
      const empty = await LiveClient.follow(server, statement, { resumes: fresh })
      assert.equal(empty.applier.recovered, true)
      assert.deepEqual(Object.keys(JSON.parse(empty.texts[0] ?? '')), ['Kind', 'Recovered', 'Position'])
      for (const client of [later, fresh, empty]) client.close()
      await run('INSERT INTO p VALUES (3, 1)', 'DELETE FROM p WHERE id = 4')
    }
    const expired = metric('gatehouse_live_resumes_total', '{outcome="recovered"}')
    assert.ok(expired >= 6)
  })

  test('a position of another statement, of other rights or of a clock is expired; a malformed one is refused', async () => {
    await run(`CREATE TABLE own (id Integer PRIMARY KEY, owner Text NOT NULL) ROW FILTER (owner = :sub)`)
    const one = await LiveClient.follow(server, 'SELECT id FROM own')
    const two = await LiveClient.follow(server, 'SELECT id, owner FROM own')
    const position = one.applier.position ?? ''
    for (const options of [
      { as: 'admin', position: two.applier.position ?? '' },
      { as: 'trader', position },
    ]) {
      const client = await LiveClient.open(server, 'SELECT id FROM own', options)
      await client.until('a snapshot', () => client.applier.seen.Snapshot === 1)
      assert.deepEqual(client.applier.reasons, ['Expired'])
      assert.equal(client.applier.recovered, false)
      client.close()
    }
    const clock = await LiveClient.follow(server, 'SELECT id FROM due WHERE at <= now()')
    const late = await LiveClient.open(server, 'SELECT id FROM due WHERE at <= now()', { resumes: clock })
    await late.until('a snapshot', () => late.applier.seen.Snapshot === 1)
    assert.deepEqual(late.applier.reasons, ['Expired'])
    await assert.rejects(
      LiveClient.open(server, 'SELECT id FROM own', { position: 'no' }),
      refusedAs('Request.BadPosition'),
    )
    const forged = `${position.slice(0, -8)}AAAAAAAA`
    const odd = await LiveClient.open(server, 'SELECT id FROM own', { position: forged })
    await odd.until('a snapshot', () => odd.applier.seen.Snapshot === 1)
    assert.deepEqual(odd.applier.reasons, ['Expired'])
    for (const client of [one, two, clock, late, odd]) client.close()
  })

  test('another node resumes at every position that the log reaches back to, by whichever method', async () => {
    await run(
      'CREATE TABLE n (id Integer PRIMARY KEY, symbol Text NOT NULL, v Integer NOT NULL)',
      "INSERT INTO n VALUES (1, 'A', 1), (2, 'A', 2), (3, 'B', 3), (4, 'B', 4)",
    )
    const statements = [
      "SELECT v FROM n WHERE symbol = 'A'",
      'SELECT id, v FROM n WHERE v > 0',
      'SELECT symbol, sum(v) AS total FROM n GROUP BY symbol',
      'SELECT id, v FROM n ORDER BY v DESC LIMIT 3',
      'SELECT a.v, b.v AS other FROM n a JOIN n b ON a.id + 1 = b.id',
    ]
    const writes = [
      "INSERT INTO n VALUES (5, 'A', 5), (6, 'B', -6)",
      'UPDATE n SET v = 30 WHERE id = 3',
      "UPDATE n SET symbol = 'B' WHERE id = 1",
      'UPDATE n SET v = -2 WHERE id = 2',
      'DELETE FROM n WHERE id = 4',
      "UPDATE n SET id = 40, symbol = 'A' WHERE id = 3",
      "INSERT INTO n VALUES (4, 'A', 44)",
    ]
    const other = await startQueryServer(place(), { bus, clock: () => time })
    const third = await startQueryServer(place(), { bus, clock: () => time })
    let last: LiveClient | undefined
    try {
      const left: { statement: string; client: LiveClient }[] = []
      for (const write of [undefined, ...writes]) {
        if (write !== undefined) await run(write)
        for (const statement of statements)
          left.push({ statement, client: await LiveClient.follow(server, statement, { maxRate: 1 }) })
      }
      for (const { client } of left) client.close()
      for (const { statement, client: resumes } of left) {
        for (const node of [other, third]) {
          const client = await LiveClient.follow(node, statement, { resumes })
          const { json } = await server.query(statement)
          assert.equal(client.applier.recovered, true, statement)
          await client.holds(json.Rows, statement.includes('ORDER') ? 'in order' : 'in any order')
          assert.deepEqual([client.applier.seen.Reset, client.applier.seen.Snapshot], [0, 0])
          if (node === other) client.close()
          else last = client
        }
      }
      // A position from another node is equally valid here.
      const told = await LiveClient.follow(third, statements[2] ?? '')
      await run('DELETE FROM n WHERE id = 5')
      const back = await LiveClient.follow(server, statements[2] ?? '', { resumes: told })
      assert.equal(back.applier.recovered, true)
    } finally {
      await Promise.all([other.stop(), third.stop()])
    }
    await last?.until('the end', () => last?.ended !== undefined)
    assert.equal(last?.ended?.code, 'Limit.Overload', 'the node was stopped')
  })

  test('where a long row has changed, another node cannot know who has it, and resets', async () => {
    await run(
      'CREATE TABLE letters (id Integer PRIMARY KEY, body Text NOT NULL)',
      "INSERT INTO letters VALUES (1, repeat('long', 500)), (2, 'short')",
    )
    const other = await startQueryServer(place(), { bus, clock: () => time })
    try {
      for (const [statement, write, recovered] of [
        ['SELECT id FROM letters', "UPDATE letters SET body = repeat('more', 500) WHERE id = 1", true],
        ['SELECT id FROM letters', 'DELETE FROM letters WHERE id = 2', true],
        ['SELECT count(*) AS n FROM letters', "UPDATE letters SET body = repeat('long', 500) WHERE id = 1", false],
        ['SELECT id FROM letters', 'DELETE FROM letters WHERE id = 1', false],
      ] as const) {
        const resumes = await LiveClient.follow(server, statement)
        resumes.close()
        await run(write)
        const client = await LiveClient.open(other, statement, { resumes })
        await client.until('an answer', () => client.applier.isWhole && client.applier.recovered !== undefined)
        assert.equal(client.applier.recovered, recovered, `${statement}: ${write}`)
        await client.holds((await server.query(statement)).json.Rows)
        client.close()
      }
    } finally {
      await other.stop()
    }
  })

  test('a node that is behind the one that sent the position catches up first', async () => {
    await run('CREATE TABLE b (id Integer PRIMARY KEY, v Integer NOT NULL)', 'INSERT INTO b VALUES (1, 0)')
    const other = await startQueryServer(place(), { bus, clock: () => time })
    try {
      for (const statement of ['SELECT v FROM b', 'SELECT max(v) AS v FROM b']) {
        const ahead = await LiveClient.follow(server, statement)
        // It has been evaluated just now, and is not again for a second.
        const behind = await LiveClient.follow(other, statement, { maxRate: 1 })
        await run('UPDATE b SET v = v + 1 WHERE id = 1')
        await ahead.until('the change', () => ahead.applier.seen.Change === 1)
        const again = await LiveClient.follow(other, statement, { resumes: ahead })
        assert.equal(again.applier.recovered, true)
        const first = JSON.parse(behind.texts[0] ?? '').Position
        assert.notEqual(again.applier.position, first, 'it does not go back to what the node knew')
        for (const client of [ahead, behind, again]) client.close()
      }
    } finally {
      await other.stop()
    }
  })

  test('rights: a renewed token is not felt, other rows are a Reset, no right is the end', async () => {
    const { trader } = CALLERS
    assert.ok(trader !== undefined)
    await run(
      `CREATE TABLE orders (id Integer PRIMARY KEY, owner Text NOT NULL) READ SCOPE 'Platform/Trading' ROW FILTER (owner = :sub OR 'operator' IN (:role))`,
      `ALTER TABLE orders SET ROW FILTER NULL`,
      `INSERT INTO orders VALUES (1, 'trader'), (2, 'admin')`,
      `ALTER TABLE orders SET ROW FILTER (owner = :sub OR 'operator' IN (:role))`,
    )
    const client = await LiveClient.follow(server, 'SELECT id FROM orders', { as: 'trader' })
    await client.holds([{ id: 1 }])
    client.subscription.setPrincipal({ ...trader, tokenId: 'renewed' })
    client.subscription.setPrincipal({ ...trader, roles: ['operator'] })
    await client.holds([{ id: 1 }, { id: 2 }])
    assert.deepEqual(client.applier.reasons, ['Rights'])
    client.subscription.setPrincipal(trader)
    await client.holds([{ id: 1 }])
    await run('ALTER TABLE orders SET ROW FILTER (id > 1)')
    await client.holds([{ id: 2 }])
    assert.deepEqual(client.applier.reasons, ['Rights', 'Rights', 'Rights'])
    client.subscription.pause()
    await run(`INSERT INTO orders VALUES (3, 'x')`)
    const { length } = client.texts
    const beside = await LiveClient.follow(server, 'SELECT id FROM orders', { as: 'trader' })
    await beside.holds([{ id: 2 }, { id: 3 }])
    assert.equal(client.texts.length, length, 'nothing is sent while the token is expired')
    client.subscription.resume({ ...trader, tokenId: 'next' })
    await client.holds([{ id: 2 }, { id: 3 }])
    client.subscription.setPrincipal({ ...trader, scopes: new Set(['Platform/Market']) })
    await client.until('the end', () => client.ended !== undefined)
    assert.equal(client.ended?.code, 'Auth.MissingScope')
    await run(`ALTER TABLE orders SET READ SCOPE 'Platform/Admin'`)
    await beside.until('the end', () => beside.ended !== undefined)
    assert.equal(beside.ended?.code, 'Auth.MissingScope')
  })

  test('definition: an altered table is a Reset, a dropped one the end', async () => {
    await run('CREATE TABLE d (id Integer PRIMARY KEY, v Integer)', 'INSERT INTO d VALUES (1, 1)')
    const all = await LiveClient.follow(server, 'SELECT * FROM d')
    const sum = await LiveClient.follow(server, 'SELECT sum(v) AS total FROM d')
    await run('ALTER TABLE d ADD COLUMN t Text')
    await all.holds([{ id: 1, v: 1, t: null }])
    await sum.until('a Reset', () => sum.applier.seen.Reset === 1 && sum.applier.isWhole)
    assert.deepEqual([all.applier.reasons, sum.applier.reasons], [['Definition'], ['Definition']])
    await run('INSERT INTO d VALUES (2, 5, NULL)')
    await sum.holds([{ total: '6' }])
    await run('DROP TABLE d')
    await all.until('the end', () => all.ended !== undefined)
    await sum.until('the end', () => sum.ended !== undefined)
    assert.equal(all.ended?.code, 'IQL.UnknownTable')
  })

  test('a truncated table is a Reset', { skip: engine !== 'postgres' }, async () => {
    await run('CREATE TABLE tr (id Integer PRIMARY KEY)', 'INSERT INTO tr VALUES (1)')
    const client = await LiveClient.follow(server, 'SELECT id FROM tr')
    const direct = new pg.Client(place().databaseUrl)
    await direct.connect()
    const { rows } = await direct.query(
      `SELECT table_schema AS s FROM information_schema.tables WHERE table_name = 'tr'`,
    )
    await direct.query(`TRUNCATE ${rows[0].s}.tr`)
    await direct.end()
    await client.until('a Reset', () => client.applier.seen.Reset === 1 && client.applier.isWhole)
    assert.deepEqual(client.applier.reasons, ['Definition'])
    assert.equal(client.applier.size, 0)
    client.close()
  })

  test('errors: a bad statement is refused, one that begins to fail ends', shortOnSqlite(engine), async () => {
    await run('CREATE TABLE e (id Integer PRIMARY KEY, v Integer NOT NULL)', 'INSERT INTO e VALUES (1, 1)')
    await assert.rejects(LiveClient.open(server, 'SELECT nothing FROM e'), Refusal)
    await assert.rejects(LiveClient.open(server, 'SELECT id FROM e LIMIT 5'), Refusal)
    await assert.rejects(
      LiveClient.open(server, 'SELECT id FROM e', { maxRate: 51 }),
      refusedAs('Request.BadParameter'),
    )
    const divided = await LiveClient.follow(server, 'SELECT id, 10 % v AS x FROM e')
    const healthy = await LiveClient.follow(server, 'SELECT id FROM e')
    await run('INSERT INTO e VALUES (2, 0)')
    await divided.until('the end', () => divided.ended !== undefined)
    await healthy.holds([{ id: 1 }, { id: 2 }])
    healthy.close()
  })

  test('limits: rows at once and later, statements of a connection and of a user', shortOnSqlite(engine), async () => {
    const wide = (from: number, count: number): string =>
      `INSERT INTO w VALUES ${Array.from({ length: count }, (_, index) => `(${from + index})`).join(', ')}`
    await run('CREATE TABLE w (id Integer PRIMARY KEY)', wide(0, 999))
    const keys = await LiveClient.follow(server, 'SELECT id FROM w')
    const rerun = await LiveClient.follow(server, 'SELECT id FROM w ORDER BY id')
    await run(wide(999, 2))
    await keys.until('the end', () => keys.ended !== undefined)
    await rerun.until('the end', () => rerun.ended !== undefined)
    assert.deepEqual([keys.ended?.code, rerun.ended?.code], ['Limit.Rows', 'Limit.Rows'])
    await assert.rejects(LiveClient.open(server, 'SELECT id FROM w'), refusedAs('Limit.Rows'))
    const narrow = await startQueryServer(place(), {
      bus,
      liveLimits: { perConnection: 2, perUser: 3, perNode: 4, bytes: 20_000 },
    })
    const open = (connectionId: string, as: string): Promise<LiveClient> =>
      LiveClient.open(narrow, 'SELECT id FROM k', { connectionId, as })
    const opened = [await open('a', 'admin'), await open('a', 'admin'), await open('b', 'admin')]
    await assert.rejects(open('a', 'trader'), refusedAs('Limit.Live'))
    await assert.rejects(open('c', 'admin'), refusedAs('Limit.Live'))
    opened.push(await open('c', 'trader'))
    await assert.rejects(open('d', 'market'), refusedAs('Limit.Live'))
    for (const client of opened) client.close()
    await assert.rejects(LiveClient.open(narrow, 'SELECT id FROM w'), refusedAs('Limit.Memory'))
    const fine = await open('d', 'market')
    fine.close()
    await narrow.stop()
  })

  test(
    'Progress sends the position when nothing else is sent, and the position advances',
    shortOnSqlite(engine),
    async () => {
      await run('CREATE TABLE g (id Integer PRIMARY KEY, s Text NOT NULL)')
      const client = await LiveClient.follow(server, 'SELECT id FROM g WHERE s = :s', { parameters: { s: 'A' } })
      const start = client.applier.position
      await client.until('a Progress', () => client.applier.seen.Progress > 0)
      await run(`INSERT INTO g VALUES (1, 'B')`)
      await client.until('a newer position', () => client.applier.position !== start)
      assert.equal(client.applier.seen.Change, 0)
      client.close()
      const again = await LiveClient.follow(server, 'SELECT id FROM g WHERE s = :s', {
        parameters: { s: 'A' },
        resumes: client,
      })
      assert.equal(again.applier.recovered, true)
      again.close()
    },
  )

  test('operators see live statements and end them', shortOnSqlite(engine), async () => {
    await run('CREATE TABLE l (id Integer PRIMARY KEY)', 'INSERT INTO l VALUES (1)')
    const client = await LiveClient.follow(server, 'SELECT id FROM l', {
      as: caller('someone', ['Platform/Market'], []),
    })
    const listed = [...server.service.live.list()].find(({ subject }) => subject === 'someone')
    assert.ok(listed !== undefined)
    assert.deepEqual([listed.statement, listed.method, listed.rows], ['SELECT id FROM l', 'keys', 1])
    assert.equal(metric('gatehouse_live_statements', '{method="keys"}'), 1)
    assert.ok(metric('gatehouse_live_rows') > 0 && metric('gatehouse_live_bytes') > 0)
    assert.ok(metric('gatehouse_live_delivery_seconds_count') > 0)
    assert.equal(server.service.live.end(listed.requestId, 'user:admin'), false)
    assert.equal(server.service.live.end(listed.requestId, undefined), true)
    assert.equal(client.ended?.code, 'Limit.Cancelled')
    assert.equal([...server.service.live.list()].length, 0)
  })
})

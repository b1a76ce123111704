/** Definitions of feeds: by the declarative file, over HTTP and on the command line, and what is refused. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { ADMIN, bearer, signIn } from '../support/demo-user.ts'
import { onEveryEngine, onEveryEngineInLongRuns, onSqlite, openPlace, type TestPlace } from '../support/engines.ts'
import { runInProcess } from '../support/in-process.ts'
import { startTestServer, type TestServer } from '../support/server.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-feeds-'))
const file = join(folder, 'gatehouse.yaml')
after(() => rmSync(folder, { recursive: true }))

const DEFAULTS = {
  class: 'Channel',
  read: 'identity',
  write: 'Platform/Admin',
  keep: 'latest',
  message_bytes: 65_536,
  topics: 100_000,
  bytes: 1_073_741_824,
  rate: 100_000,
}

onEveryEngineInLongRuns('feeds of a server', (place) => {
  let server: TestServer
  let token: string
  before(async () => {
    writeFileSync(
      file,
      `feeds:
  - { name: Prices }
  - name: Desk.Orders
    class: Trading
    read: Platform/Trading
    keep: all
    history: { time: 7 days }
`,
    )
    server = await startTestServer(place(), { flags: { '--demo': 'true', '--config': file } })
    token = (await signIn(server, ADMIN)).access_token
  })
  after(() => server.stop())

  const list = async (): Promise<{ name: string; usage: unknown }[]> => {
    const reply = await fetch(`${server.issuer}/admin/feeds`, bearer(token))
    return ((await reply.json()) as { items: { name: string; usage: unknown }[] }).items
  }
  const run = (...words: string[]) => runInProcess([...words, ...databaseFlags(place())])

  test('those of the file have their defaults', async () => {
    const orders = { class: 'Trading', read: 'Platform/Trading', keep: 'all' }
    const history = { messages: 1000, time: '7 days' }
    const [first, second, ...others] = await list()
    const usage = { topics: 0, bytes: 0 }
    assert.deepEqual(first, { name: 'Desk.Orders', ...DEFAULTS, ...orders, history, usage })
    assert.deepEqual(second, { name: 'Prices', ...DEFAULTS, usage })
    assert.deepEqual(others, [])
  })

  test('one that the command line adds, changes or removes is so on the server', async () => {
    const added = await run('feed', 'add', 'News', '--read', 'Platform/News', '--history-messages', '50')
    assert.equal(added.status, 0, added.stderr)
    const news = { name: 'News', ...DEFAULTS, read: 'Platform/News' }
    const withoutUsage = ({ usage, ...definition }: { usage: unknown }) => definition
    const second = async () => withoutUsage((await list())[1] ?? { usage: undefined })
    assert.deepEqual(await second(), { ...news, history: { messages: 50, time: '1 hour' } })
    await run('feed', 'set', 'News', '--history-time', '90 seconds', '--default', 'read')
    assert.deepEqual(await second(), { ...news, read: 'identity', history: { messages: 50, time: '90 seconds' } })
    assert.match(
      (await run('feed', 'list')).stdout,
      /^Desk\.Orders +Trading +Platform\/Trading +Platform\/Admin +all /m,
    )
    assert.equal((await run('feed', 'remove', 'News', '--yes')).stdout, 'The feed News was deleted.\n')
    assert.equal((await list()).length, 2)
  })

  test('a file that prunes removes those that it does not list, and shows differences in its own words', async () => {
    writeFileSync(file, 'feeds: [{ name: Prices, message_bytes: 1000, history: {} }]\nprune: true\n')
    const planned = await run('apply', '--config', file, '--dry-run')
    assert.equal(
      planned.stdout,
      `~ feed Prices
    message_bytes: 65536 → 1000
    history: nothing → {"messages":1000,"time":"1 hour"}
- feed Desk.Orders
0 to be created, 1 to be changed, 1 to be removed.
`,
    )
    assert.equal((await list()).length, 2)
    assert.equal((await run('apply', '--config', file)).status, 0)
    const [{ usage: _, ...left } = { usage: null }, ...others] = await list()
    assert.deepEqual(left, {
      ...{ name: 'Prices', ...DEFAULTS, message_bytes: 1000 },
      history: { messages: 1000, time: '1 hour' },
    })
    assert.deepEqual(others, [])
    assert.equal((await run('apply', '--config', file)).stdout, 'Nothing to change.\n')
  })
})

onEveryEngine('/admin/feeds', (place) => {
  let admin: TestAdmin
  const purged: string[] = []
  before(async () => {
    const feeds = {
      reload: async () => {},
      purge: async (name: string) => void purged.push(name),
      usage: async () => ({ topics: 3, bytes: 70 }),
    }
    admin = await startTestAdmin(place(), { feeds })
  })
  after(() => admin.stop())

  test('declares, shows, changes, purges and deletes a feed; nodes learn of each change, and the audit log has it', async () => {
    const { status, headers, body } = await admin.call('POST', '/admin/feeds', {
      body: { name: 'Prices', state_time: '1 day', nats_subject: 'md.prices.>' },
    })
    assert.deepEqual([status, headers.get('location')], [201, '/admin/feeds/Prices'])
    const prices = { name: 'Prices', ...DEFAULTS, state_time: '1 day', nats_subject: 'md.prices.>' }
    assert.deepEqual(body, prices)
    assert.equal((await admin.call('POST', '/admin/feeds', { body: { name: 'Prices' } })).status, 409)

    const path = '/admin/feeds/Prices'
    const shown = await admin.call('GET', path)
    assert.deepEqual(shown.body, { ...prices, usage: { topics: 3, bytes: 70 } })
    const patch = { history: { messages: 10 }, state_time: null }
    assert.equal((await admin.call('PATCH', path, { body: patch })).status, 428)
    const changed = await admin.call('PATCH', path, { body: patch, ifMatch: shown.headers.get('etag') ?? '' })
    assert.deepEqual(changed.body.history, { messages: 10, time: '1 hour' })
    assert.equal(changed.body.state_time, undefined)
    assert.equal((await admin.call('PATCH', path, { body: patch, ifMatch: '"another"' })).status, 412)
    const longer = await admin.call('PATCH', path, { body: { history: { time: '2 days' } }, ifMatch: '*' })
    assert.deepEqual(longer.body.history, { messages: 10, time: '2 days' })
    assert.equal((await admin.call('PATCH', path, { body: { name: 'Other' }, ifMatch: '*' })).status, 422)

    assert.equal((await admin.call('POST', `${path}/purge`)).status, 204)
    assert.deepEqual(purged, ['Prices'])
    assert.equal((await admin.call('DELETE', path)).status, 204)
    for (const [method, at] of [
      ['GET', path],
      ['PATCH', path],
      ['DELETE', path],
      ['POST', `${path}/purge`],
    ] as const)
      assert.equal(
        (await admin.call(method, at, { ifMatch: '*', ...(method === 'PATCH' && { body: {} }) })).status,
        404,
      )

    assert.deepEqual(
      admin.events.map(({ kind }) => kind),
      Array(4).fill('feeds-changed'),
    )
    await admin.env.audit.flush()
    const { body: audit } = await admin.call('GET', '/admin/audit?event=feed')
    assert.deepEqual(
      audit.items.map((item: { event: string; target: string }) => `${item.event} ${item.target}`).reverse(),
      ['created', 'changed', 'changed', 'purged', 'deleted'].map((what) => `feed.${what} Prices`),
    )
  })

  test('does not share its name with a remote controller, whichever was declared first', async () => {
    const controller = { url: 'https://oms.example/', topics: [{ name: 'Place', needs: 'identity' }] }
    assert.equal((await admin.call('PUT', '/admin/controllers/Orders', { body: controller })).status, 201)
    const second = await admin.call('POST', '/admin/feeds', { body: { name: 'Orders' } })
    assert.deepEqual(
      [second.status, second.body.detail],
      [409, 'Orders is the name of a remote controller: choose another'],
    )
    assert.equal((await admin.call('DELETE', '/admin/controllers/Orders')).status, 204)
    assert.equal((await admin.call('POST', '/admin/feeds', { body: { name: 'Orders' } })).status, 201)
    const third = await admin.call('PUT', '/admin/controllers/Orders', { body: controller })
    assert.deepEqual([third.status, third.body.detail], [409, 'Orders is the name of a feed: choose another'])
    assert.equal((await admin.call('DELETE', '/admin/feeds/Orders')).status, 204)
  })

  test('lists page by page, for Platform/Admin only', async () => {
    for (const name of ['B', 'A', 'C'])
      assert.equal((await admin.call('POST', '/admin/feeds', { body: { name } })).status, 201)
    const { body } = await admin.call('GET', '/admin/feeds?limit=2')
    assert.deepEqual(
      [body.items.map(({ name }: { name: string }) => name), body.next],
      [['A', 'B'], '/admin/feeds?limit=2&after=B'],
    )
    assert.equal((await admin.call('GET', body.next)).body.items[0].name, 'C')
    assert.equal((await admin.call('GET', '/admin/feeds', { token: 'Identity-Admin' })).status, 403)
  })
})

const REFUSED: readonly (readonly [title: string, body: object, detail: string])[] = [
  ['no name', {}, 'name: is missing'],
  [
    'a name that is no word',
    { name: 'My prices' },
    'name: must consist of letters, digits, underscores and dots, and begin with a letter',
  ],
  ['a long name', { name: 'P'.repeat(65) }, 'name: is longer than 64 characters'],
  [
    'the name of a built-in controller',
    { name: 'Query' },
    'name: Query is the name of a built-in controller: choose another',
  ],
  [
    'the name of a loaded controller',
    { name: 'Ticker' },
    'name: Ticker is the name of a controller that the server has loaded: choose another',
  ],
  [
    'an unknown class',
    { name: 'P', class: 'Markets' },
    'class: "Markets" is not one of Authority, Market, News, Trading, Watchlist, Scanner, Channel; did you mean Market?',
  ],
  [
    'an unknown scope',
    { name: 'P', read: 'Platform/Markt' },
    'read: "Platform/Markt" is not one of identity, Platform/Market, Platform/News, Platform/Trading, Platform/OrderPad, Platform/Admin; did you mean Platform/Market?',
  ],
  [
    'publishing by everybody',
    { name: 'P', write: 'identity' },
    'write: "identity" is not one of Platform/Market, Platform/News, Platform/Trading, Platform/OrderPad, Platform/Admin',
  ],
  ['an unknown member', { name: 'P', retain: 'all' }, 'retain: unknown member'],
  ['a message above 1 MiB', { name: 'P', message_bytes: 1_048_577 }, 'message_bytes: must be at most 1048576'],
  ['no topics', { name: 'P', topics: 0 }, 'topics: must be at least 1'],
  ['more than 64 GiB', { name: 'P', bytes: 2 ** 36 + 1 }, 'bytes: must be at most 68719476736'],
  ['less room than for one message', { name: 'P', bytes: 65_535 }, 'bytes: must be at least message_bytes, 65536'],
  ['a long history', { name: 'P', history: { messages: 100_001 } }, 'history.messages: must be at most 100000'],
  ['an old history', { name: 'P', history: { time: '31 days' } }, 'history.time: must be from 1 second to 30 days'],
  [
    'a time as a number',
    { name: 'P', history: { time: 60 } },
    'history.time: must be text such as "1 hour", not a number',
  ],
  [
    'a time without a unit',
    { name: 'P', state_time: '60' },
    'state_time: must be a time such as "10 seconds" or "1 minute"',
  ],
  [
    'a time of states where there are none',
    { name: 'P', keep: 'all', state_time: '1 day' },
    'state_time: needs keep latest: with all, a topic has no state; history.time says how long messages are kept',
  ],
  [
    'the subjects of other feeds',
    { name: 'P', nats_subject: 'gatehouse.feeds.>' },
    'nats_subject: must not begin with gatehouse: these are subjects of the server, which has one for every feed',
  ],
  [
    'all subjects of NATS',
    { name: 'P', nats_subject: '>' },
    'nats_subject: must be a subject of NATS that consists of names and ends with >, such as md.prices.>',
  ],
]

onSqlite('a feed is refused', (place) => {
  let admin: TestAdmin
  before(async () => {
    admin = await startTestAdmin(place(), { loadedControllers: ['Ticker'] })
  })
  after(() => admin.stop())

  for (const [title, body, detail] of REFUSED)
    test(`with ${title}`, async () => {
      const reply = await admin.call('POST', '/admin/feeds', { body })
      assert.deepEqual([reply.status, reply.body.detail], [422, detail])
    })

  test('nothing was declared', async () => {
    assert.deepEqual((await admin.call('GET', '/admin/feeds')).body.items, [])
  })
})

describe('a start is refused', () => {
  let place: TestPlace
  let leave: () => Promise<void>
  before(async () => {
    ;({ place, leave } = await openPlace('sqlite'))
  })
  after(() => leave())

  test('if the file declares a feed with the name of a loaded controller, or two feeds with one name', async () => {
    const controller = join(folder, 'controller.mjs')
    writeFileSync(controller, `export default { name: 'Desk', summary: 'A desk', topics: {} }`)
    const start = async (text: string) => {
      writeFileSync(file, text)
      const server = await startTestServer(place, { flags: { '--config': file, '--stream-controllers': controller } })
      await server.stop()
    }
    await assert.rejects(start('feeds: [{ name: Desk }]'), {
      message: `${file}: feeds[0].name: Desk is the name of a controller that the server has loaded: choose another`,
    })
    await assert.rejects(start('feeds: [{ name: P }, { name: P }]'), {
      message: `${file}: feeds[1].name: "P" is already the name of feeds[0]`,
    })
  })
})

function databaseFlags({ dataFolder, databaseUrl }: TestPlace): string[] {
  return ['--data', dataFolder, ...(databaseUrl === '' ? [] : ['--database-url', databaseUrl])]
}

/** SCIM with 100,000 users: what one request costs does not grow with their number, except where every user is asked for. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { changeDatabase } from '../support/change-database.ts'
import { inLongRuns } from '../support/engines.ts'
import { type Reply, type ScimServer, startScimServer } from './scim-server.ts'

const COUNT = 100_000
const MEMBERS = 10_000

inLongRuns('100,000 users over SCIM', (place, engine) => {
  let server: ScimServer
  before(async () => {
    server = await startScimServer(place())
  })
  after(() => server.stop())

  test('lists, filters and groups', async (context) => {
    const few = await measureAll(20)
    await changeDatabase(place(), insertUsers(engine))
    const many = await measureAll(20)
    for (const [name, milliseconds] of Object.entries(many)) {
      const before = few[name] ?? 0
      context.diagnostic(
        `${engine}: ${name}: ${milliseconds.toFixed(1)} ms, ${(milliseconds / before).toFixed(1)} times that with few users`,
      )
    }
    // Of an index: three times is the noise of a busy machine.
    for (const name of ['by userName', 'by externalId', 'by e-mail', 'read one'])
      assert.ok((many[name] ?? 0) < 3 * (few[name] ?? 0) + 10, `${name} does not depend on the number of users`)

    const scan = await server.scim('GET', `/Users?filter=${encodeURIComponent('displayName co "x"')}`)
    assert.deepEqual([scan.status, scan.body.scimType], [400, 'tooMany'])
    const narrowed = await find('userName sw "many-0001" and name.givenName eq "g7"')
    assert.ok(narrowed.body.totalResults > 0)
    const all = await server.scim('GET', '/Users?count=0')
    assert.ok(all.body.totalResults > COUNT)
    const seen = await walk()
    assert.equal(seen, all.body.totalResults, 'cursors lead through all users')

    const ids = Array.from({ length: MEMBERS }, (_, number) => ({ value: userId(number) }))
    const group = await server.group('Large')
    const add = await timed(() => server.patch(`/Groups/${group}`, { op: 'add', path: 'members', value: ids }))
    // What the members caused is recorded and delivered.
    await setTimeout(3000)
    const one = await timed(() =>
      server.patch(`/Groups/${group}`, { op: 'add', path: 'members', value: [{ value: userId(MEMBERS) }] }),
    )
    const less = await timed(() =>
      server.patch(`/Groups/${group}`, { op: 'remove', path: 'members', value: [{ value: userId(3) }] }),
    )
    const read = await timed(() => server.scim('GET', `/Groups/${group}`))
    assert.equal(read.reply.body.members.length, MEMBERS)
    const bare = await timed(() => server.scim('GET', `/Groups/${group}?excludedAttributes=members`))
    const gone = await timed(() => server.scim('DELETE', `/Groups/${group}`))
    for (const [name, { milliseconds, reply }] of Object.entries({ add, one, less, read, bare, gone })) {
      assert.ok(reply.status < 300, `${name}: ${reply.status}`)
      context.diagnostic(`${engine}: group of ${MEMBERS}: ${name}: ${milliseconds.toFixed(1)} ms`)
    }
    assert.ok(one.milliseconds < add.milliseconds / 4, 'one more member costs what one costs')
  })

  const find = (filter: string) => server.scim('GET', `/Users?filter=${encodeURIComponent(filter)}`)

  async function walk(): Promise<number> {
    let seen = 0
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const { body }: Reply = await server.scim('GET', `/Users?cursor=${cursor}&attributes=userName`)
      seen += body.Resources.length
      cursor = body.nextCursor
    }
    return seen
  }

  /** The median time of each request. */
  async function measureAll(times: number): Promise<Record<string, number>> {
    const name = `known-${times}-${Date.now()}`
    const id = await server.user(name, { externalId: name, emails: [{ value: `${name}@example.com`, type: 'work' }] })
    const requests: Readonly<Record<string, () => Promise<Reply>>> = {
      'by userName': () => find(`userName eq "${name}"`),
      'by externalId': () => find(`externalId eq "${name}"`),
      'by e-mail': () => find(`emails.value eq "${name}@example.com"`),
      'read one': () => server.scim('GET', `/Users/${id}`),
      'first page': () => server.scim('GET', '/Users?count=200'),
      'last page by startIndex': () => server.scim('GET', `/Users?startIndex=${COUNT}&count=200`),
      'count of a prefix': () => find('userName sw "many-"'),
    }
    const medians: Record<string, number> = {}
    for (const [what, request] of Object.entries(requests)) {
      const measured: number[] = []
      for (let run = 0; run < times; run++) {
        const { milliseconds, reply } = await timed(request)
        assert.equal(reply.status, 200)
        measured.push(milliseconds)
      }
      medians[what] = measured.sort((a, b) => a - b)[Math.floor(times / 2)] ?? 0
    }
    return medians
  }
})

async function timed(act: () => Promise<Reply>): Promise<{ milliseconds: number; reply: Reply }> {
  const start = performance.now()
  const reply = await act()
  return { milliseconds: performance.now() - start, reply }
}

function userId(number: number): string {
  return `usr_many${String(number).padStart(18, '0')}`
}

/** One statement: creating them over SCIM would take minutes. */
function insertUsers(engine: 'sqlite' | 'postgres'): string {
  const padded = engine === 'sqlite' ? `printf('%018d', n)` : `lpad(n::text, 18, '0')`
  const short = engine === 'sqlite' ? `printf('%06d', n)` : `lpad(n::text, 6, '0')`
  const numbers = `with recursive numbers(n) as (select 0 union all select n + 1 from numbers where n + 1 < ${COUNT})`
  const profile = `'{"name":"Many","given_name":"g' || (n % 10) || '","email":"many' || n || '@example.com"}'`
  return `insert into users (id, username, username_key, password_changed_at, profile, name_key, email_key, disabled, created_at, updated_at)
    ${numbers} select 'usr_many' || ${padded}, 'many-' || ${short}, 'many-' || ${short}, 0, ${profile}, 'many',
    'many' || n || '@example.com', 0, 1700000000000, 1700000000000 from numbers`
}

/** What follows from a change of a user is the same for every author: sessions end, links are void, and the audit log says so in its transaction. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { readDeclaration } from '../../packages/server/src/declarative/read.ts'
import { reconcile } from '../../packages/server/src/declarative/reconcile.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { onEveryEngine } from '../support/engines.ts'

const SIGNED_IN = { amr: ['pwd'], userAgent: 'Test/1', address: '192.0.2.1' }

onEveryEngine('changes of accounts', (place) => {
  let admin: TestAdmin
  before(async () => {
    admin = await startTestAdmin(place())
    await admin.env.stores.roles.put({ name: 'trader', scopes: ['Platform/News'] })
  })
  after(() => admin.stop())

  async function created(username: string, members: object = {}): Promise<string> {
    const { status, body } = await admin.call('POST', '/admin/users', { body: { username, ...members } })
    assert.equal(status, 201)
    return body.id
  }
  const patch = (user: string, body: object) => admin.call('PATCH', `/admin/users/${user}`, { body, ifMatch: '*' })

  /** The events about a user, oldest first, with what has changed. */
  async function recorded(target: string): Promise<string[]> {
    await admin.env.audit.flush()
    const rows = await admin.env.database.db
      .selectFrom('audit_log')
      .selectAll()
      .where('target', '=', target)
      .orderBy('seq')
      .execute()
    return rows.map(({ event, details }) => {
      const { changed, source }: { changed?: string[]; source?: string } = JSON.parse(details)
      return [event, changed?.join(' '), source].filter((text) => text !== undefined).join(' ')
    })
  }

  async function applied(declaration: object): Promise<void> {
    const file = join(place().dataFolder, 'declared.json')
    writeFileSync(file, JSON.stringify(declaration))
    await reconcile(
      { ...readDeclaration(file), rows: new Map() },
      {
        ...{ database: admin.env.database, clock: Date.now, environment: {}, tables: undefined, mail: undefined },
        ...{ audit: admin.env.audit, digestKey: Buffer.alloc(32, 7), providerKey: Buffer.alloc(32, 7) },
      },
    )
  }

  // No node is there that ends them afterwards.
  for (const [name, change] of [
    ['a new password', (username) => admin.call('PUT', `/admin/users/${username}/password`, { ifMatch: '*' })],
    ['disabling', (username) => patch(username, { disabled: true })],
    ['a file that disables', (username) => applied({ users: [{ username, disabled: true }] })],
  ] as readonly (readonly [string, (username: string) => Promise<unknown>])[])
    test(`${name} ends the sessions of a user in the same transaction`, async () => {
      const { sessions } = admin.env.stores
      const username = name.replaceAll(' ', '-')
      const id = await created(username)
      await sessions.open(id, SIGNED_IN)
      await change(username)
      assert.deepEqual(await sessions.listOfUser(id), [])
    })

  test('a declarative file leaves an entry for each user that it changes', async () => {
    const users = (members: object) => ({ users: [{ username: 'filed', ...members }] })
    await applied(users({ name: 'One' }))
    const { id } = (await admin.env.stores.users.findByUsername('filed')) ?? assert.fail()
    await applied(users({ name: 'Two', roles: ['trader'] }))
    await applied(users({ name: 'Two', roles: ['trader'], disabled: true }))
    assert.deepEqual(await recorded(id), ['user.created file', 'user.changed profile roles file', 'user.disabled file'])
  })

  test('one change that disables a user and gives a role leaves an entry for both', async () => {
    const id = await created('both')
    await patch(id, { disabled: true, roles: ['trader'] })
    await patch(id, { disabled: true, roles: ['trader'] })
    assert.deepEqual(await recorded(id), ['user.created admin', 'user.disabled admin', 'user.changed roles admin'])
  })

  test('a link to a new address is void once an operator has changed the address, also back again', async () => {
    const id = await created('mailed', { email: 'one@example.com' })
    const { addressLinks } = admin.env.stores
    const expiresAt = Date.now() + 60_000
    const wanted = { userId: id, address: 'other@example.com', replaces: 'one@example.com', expiresAt }
    const token = await addressLinks.create(wanted)
    await patch(id, { email: 'two@example.com' })
    await patch(id, { email: 'one@example.com' })
    assert.equal(await addressLinks.find(token), undefined)
  })

  test('a change that is refused leaves no entry', async () => {
    const id = await created('unchanged')
    await created('holder')
    assert.equal((await patch(id, { username: 'holder', disabled: true })).status, 409)
    assert.deepEqual(await recorded(id), ['user.created admin'])
    assert.equal((await admin.env.stores.users.findById(id))?.disabled, false)
  })
})

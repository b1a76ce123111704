/** The last way in: of two identities that their owner unlinks at the same time, one stays. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AccountFault } from '../../packages/server/src/accounts/account-fault.ts'
import { type Author, openAccounts } from '../../packages/server/src/accounts/accounts.ts'
import { toProvider } from '../../packages/server/src/resources/provider-shape.ts'
import { openTestAudit } from '../support/audit.ts'
import { onEveryEngine } from '../support/engines.ts'
import { type OpenStores, openStores } from '../support/stores.ts'

onEveryEngine('identities of an account', (place) => {
  let open: OpenStores
  before(async () => {
    open = await openStores(place())
  })
  after(() => open.close())

  test('two that are unlinked at once leave one, where there is no password', async () => {
    const { database, clock, stores } = open
    const audit = openTestAudit(database)
    const accounts = openAccounts({
      ...{ database, clock, audit, receive: () => {}, mail: undefined },
      localSignIn: () => 'all',
    })
    const userId = await stores.users.create({ username: 'twice' })
    const ids: string[] = []
    for (const id of ['one', 'two']) {
      await stores.providers.put(toProvider({ id, issuer: `https://${id}.example.com`, client_id: 'gatehouse' }), {})
      const linked = { provider: id, issuer: `https://${id}.example.com`, subject: 'x', userId, label: 'x' }
      ids.push((await stores.identities.add(linked))?.id ?? assert.fail())
    }
    const owner: Author = { source: 'account', actor: userId, userAgent: 'Test/1' }
    const outcomes = await Promise.allSettled(
      ids.map((id) => accounts.change(owner, ({ unlinkIdentity }) => unlinkIdentity(userId, id))),
    )
    const refused = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
    assert.deepEqual(
      refused.map((fault) => fault instanceof AccountFault && fault.code),
      ['last-way-in'],
    )
    assert.equal((await stores.identities.listOfUser(userId)).length, 1)
    await audit.close()
  })
})

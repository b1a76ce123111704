/** A process, to be killed, that writes to every store without pause and prints each write once it is acknowledged. */

import type { Grant } from '../../packages/server/src/store/authorizations/grants.ts'
import { createRevocations } from '../../packages/server/src/store/authorizations/revocations.ts'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { createStores } from '../../packages/server/src/store/stores.ts'

export type Acknowledged =
  | { readonly what: 'user' | 'client' | 'grant' | 'revoked'; readonly id: string }
  | { readonly what: 'event'; readonly seq: number }
  | { readonly what: 'spent code' | 'redeemed device' | 'refresh token'; readonly secret: string }
  | { readonly what: 'rotated'; readonly from: string; readonly to: string }

const [dataFolder = '', url = ''] = process.argv.slice(2)
const database = await openDatabase({ dataFolder, url })
const stores = createStores(database, Date.now)
const revocations = createRevocations({ grants: stores.grants, publish: stores.events.append, clock: Date.now })
const lifetimes = { idleMs: 86_400_000, graceMs: 10_000 }

/** Several at once, so that the kill falls into shared commits. */
await Promise.all(Array.from({ length: 8 }, (_, worker) => work(worker)))

async function work(worker: number): Promise<void> {
  for (let round = 0; ; round++) {
    const name = `${process.pid}-${worker}-${round}`
    const userId = await stores.users.create({ username: name, roles: ['r'] })
    print({ what: 'user', id: userId })
    await stores.clients.put({ client_id: name })
    print({ what: 'client', id: name })
    const grant = await newGrant(userId)
    print({ what: 'grant', id: grant.id })

    const code = await stores.codes.issue(grant.id, { redirectUri: 'https://a/' }, 60_000)
    await stores.codes.spend(code)
    print({ what: 'spent code', secret: code })

    const token = await stores.refreshTokens.issue(grant, lifetimes)
    print({ what: 'refresh token', secret: token })
    const found = await stores.refreshTokens.find(token)
    const rotation = found === undefined ? undefined : await stores.refreshTokens.rotate(token, found, lifetimes)
    if (rotation?.outcome !== 'rotated') throw new Error('It must rotate')
    print({ what: 'rotated', from: token, to: rotation.successor })

    const device = await stores.deviceCodes.issue({
      clientId: name,
      scopes: [],
      lifetimeMs: 60_000,
      intervalSeconds: 5,
      address: '192.0.2.1',
    })
    await stores.deviceCodes.decide(device.userCode, { userId, sessionId: undefined, scopes: [], authTime: 0, amr: [] })
    await stores.deviceCodes.redeem(device.deviceCode)
    print({ what: 'redeemed device', secret: device.deviceCode })

    print({ what: 'event', seq: await stores.events.append({ kind: 'clients-changed', clientId: name }) })
    await revocations.revokeGrant(grant.id)
    print({ what: 'revoked', id: grant.id })
  }
}

function newGrant(userId: string): Promise<Grant> {
  return stores.grants.create({
    kind: 'password',
    clientId: 'c',
    userId,
    sessionId: undefined,
    scopes: ['openid'],
    authTime: Date.now(),
    details: { amr: [] },
    expiresAt: Date.now() + 86_400_000,
  })
}

function print(acknowledged: Acknowledged): void {
  process.stdout.write(`${JSON.stringify(acknowledged)}\n`)
}

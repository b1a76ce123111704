/** The working parts of identity, put together once: who signs, what tokens say, who is calling, what was taken back. */
import type { Bus } from '../events/bus.ts'
import { type Denylist, openDenylist } from '../events/denylist.ts'
import type { Audit } from '../protocol/audit-events.ts'
import type { Clock } from '../protocol/clock.ts'
import type { Metrics } from '../protocol/metrics.ts'
import type { Authenticate } from '../protocol/principal.ts'
import type { Stores } from '../store/stores.ts'
import { createTakeBack, type TakeBack } from '../store/take-back.ts'
import { createAccess } from './access.ts'
import { displayNameOf } from './claims.ts'
import { type ClientDirectory, createClientDirectory } from './client-directory.ts'
import type { TokenLifetimes } from './grants/env.ts'
import { createHashing, type Hashing } from './hashing.ts'
import { createIssuer, type Issuer } from './issuer.ts'
import { type CheckPassword, createPasswordCheck } from './password-check.ts'
import { createSecretThrottle, type SecretThrottle } from './secret-throttle.ts'
import { openSigner, type Signer } from './signer.ts'
import { createUserDirectory, type UserDirectory } from './user-directory.ts'

export interface IdentityOptions {
  readonly issuer: string
  readonly stores: Stores
  readonly bus: Bus
  readonly audit: Audit
  readonly clock: Clock
  /** Seals the private signing keys. */
  readonly sealingKey: Buffer
  readonly rotateKeysEveryMs: number
  readonly lifetimes: TokenLifetimes
  readonly metrics: Metrics
  readonly onError: (error: unknown) => void
}

export interface Identity {
  readonly issuer: Issuer
  readonly signer: Signer
  readonly authenticate: Authenticate
  readonly denylist: Denylist
  readonly takeBack: TakeBack
  readonly clients: ClientDirectory
  readonly users: UserDirectory
  readonly checkPassword: CheckPassword
  readonly hashing: Hashing
  readonly secretThrottle: SecretThrottle
  readonly lifetimes: TokenLifetimes
  close(): void
}

export async function openIdentity(options: IdentityOptions): Promise<Identity> {
  const { stores, bus, audit, clock, lifetimes, onError } = options
  const [signer, denylist] = await Promise.all([
    openSigner({
      keys: stores.signingKeys,
      sealingKey: options.sealingKey,
      rotateEveryMs: options.rotateKeysEveryMs,
      clock,
      bus,
      audit,
      onError,
    }),
    openDenylist(bus, stores.events, clock),
  ])
  const users = createUserDirectory(stores.users, bus, clock)
  const access = createAccess({
    issuer: options.issuer,
    signer,
    denylist,
    clock,
    async namesOf(userId) {
      const user = await users.findById(userId)
      return user === undefined ? undefined : { username: user.username, displayName: displayNameOf(user) }
    },
  })
  const unsubscribe = bus.subscribe(({ kind }) => {
    if (kind === 'keys-changed') access.forget()
  })
  const hashing = createHashing(options.metrics)
  return {
    issuer: createIssuer({
      name: options.issuer,
      signer,
      clock,
      accessTokenLifetimeMs: lifetimes.accessTokenMs,
      sessionEnded: denylist.sessionEnded,
    }),
    signer,
    authenticate: access.authenticate,
    denylist,
    takeBack: createTakeBack({ grants: stores.grants, publish: bus.publish, clock }),
    clients: createClientDirectory(stores.clients, bus, clock),
    users,
    checkPassword: createPasswordCheck({
      users: stores.users,
      throttles: stores.throttles,
      hashing,
      audit,
      clock,
      metrics: options.metrics,
    }),
    hashing,
    secretThrottle: createSecretThrottle(clock),
    lifetimes,
    close() {
      unsubscribe()
      users.close()
      denylist.close()
      signer.close()
    },
  }
}

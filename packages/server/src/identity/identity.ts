/** The identity service, the entry of this folder: opens signer, issuer, authentication, revocations, caches, password checks. */

import type { Audit, Clock } from 'gatehouse-protocol'
import type { Bus } from '../events/bus.ts'
import type { Cluster } from '../events/cluster.ts'
import { openRevocationList } from '../events/revocation-list.ts'
import type { CheckProof } from '../http/request/proof.ts'
import { lazily } from '../lib/once.ts'
import type { SignatureAlg } from '../lib/signature-algs.ts'
import type { AgentAccess } from '../store/apis/known-scopes.ts'
import { openRevocations } from '../store/authorizations/revocations.ts'
import type { BuiltInClients } from '../store/clients/built-in-clients.ts'
import type { Database } from '../store/database/database.ts'
import type { Stores } from '../store/stores.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { openAgents } from './agents/agents.ts'
import { openApiRegistry } from './apis/registry.ts'
import { Attempts } from './attempts.ts'
import { openAttributeDirectory } from './attributes/attribute-directory.ts'
import type { PushedSettings } from './authorize/pushed-request.ts'
import { createClientDirectory } from './clients/client-directory.ts'
import { createClientKeys } from './clients/client-keys.ts'
import { createSecretThrottle } from './clients/client-request.ts'
import type { Dpop, DpopOptions } from './dpop/dpop.ts'
import type { TokenLifetimes } from './grants/lifetimes.ts'
import { createUndeliveredTokens } from './grants/undelivered-tokens.ts'
import { createHashing } from './passwords/hashing.ts'
import { createPasswordCheck } from './passwords/password-check.ts'
import { createProviderDirectory, type LocalSignIn } from './provider-directory.ts'
import { createAccess } from './tokens/access.ts'
import { chooseDisplayName } from './tokens/claims.ts'
import { createIssuer } from './tokens/issuer.ts'
import { openSigner } from './tokens/signer.ts'
import { createUserDirectory } from './user-directory.ts'

export { watchSessions } from './browser/sign-out/session-watch.ts'
export type { UsedProofs } from './dpop/dpop.ts'
export type { OwnLicences, OwnProduct, Person } from './own-licences.ts'
export type { LocalSignIn } from './provider-directory.ts'

export interface IdentityOptions {
  readonly issuer: string
  readonly database: Database
  readonly stores: Stores
  readonly builtInClients: BuiltInClients
  readonly bus: Bus
  readonly nodes: Pick<Cluster, 'handle' | 'callAny'>
  readonly audit: Audit
  readonly clock: Clock
  /** Encrypts the private signing keys at rest. */
  readonly sealingKey: Buffer
  readonly rotateKeysEveryMs: number
  readonly signingAlgs: readonly SignatureAlg[]
  /** Whether clients can be registered for the right to provision users. */
  readonly provisioning?: boolean
  /** What agents use; undefined where none are served. */
  readonly agents?: AgentAccess | undefined
  readonly lifetimes: TokenLifetimes
  /** Proofs of possession of the keys that tokens are bound to (RFC 9449). */
  readonly dpop: Pick<DpopOptions, 'publicOrigins' | 'nonce' | 'replay' | 'nonceKey' | 'usedProofs'>
  readonly localSignIn: LocalSignIn
  /** Pushed authorization requests (RFC 9126). */
  readonly pushed: PushedSettings
  readonly metrics: Metrics
  readonly onError: (error: unknown) => void
  /** A token of this server begins later than now. Seconds since the epoch. */
  readonly onEarlyToken?: (notBefore: number) => void
  /** Allows the keys of clients and of the issuers of workloads at private and loopback addresses. */
  readonly allowPrivateKeys: boolean
  /** Keys or metadata at this address could not be fetched. */
  readonly onRemoteFailure: (uri: string, reason: string) => void
}

export type Identity = Awaited<ReturnType<typeof openIdentity>>

export async function openIdentity(options: IdentityOptions) {
  const { stores, bus, audit, clock, onError } = options
  const lifetimes = { ...options.lifetimes }
  const [signer, revocationList, apis, attributes] = await Promise.all([
    openSigner({
      keys: stores.signingKeys,
      sealingKey: options.sealingKey,
      rotateEveryMs: options.rotateKeysEveryMs,
      algs: options.signingAlgs,
      olderNodes: () => stores.nodes.older(),
      clock,
      bus,
      audit,
      onError,
    }),
    openRevocationList(bus, stores.events, clock),
    openApiRegistry({ ...options, apis: stores.apis, bus, onError }),
    openAttributeDirectory(stores.attributes, bus, onError),
  ])
  const users = createUserDirectory(stores.users, bus, clock)
  const access = createAccess({
    issuer: options.issuer,
    signer,
    revocationList,
    clock,
    known: apis.known,
    onEarly: options.onEarlyToken,
    async readNames(userId) {
      const user = await users.findById(userId)
      return user === undefined
        ? undefined
        : { username: user.username, displayName: chooseDisplayName(user), roles: user.roles }
    },
  })
  const unsubscribe = bus.subscribe((event) => {
    // Row filters can refer to the username, which may belong to another user next.
    const isRename = event.kind === 'user-changed' && event.renamed === true
    if (event.kind === 'keys-changed' || isRename) access.forget()
  })
  const revocations = openRevocations({ database: options.database, clock, receive: bus.receive })
  const agents =
    options.agents &&
    (await openAgents({
      ...{ stores, bus, revocations, clock, onError },
      known: apis.known,
      metrics: options.metrics,
      allowPrivate: options.allowPrivateKeys,
      onFailure: options.onRemoteFailure,
    }))
  const clients = createClientDirectory(stores.clients, bus, clock, options.builtInClients, agents)
  let openedDpop: Dpop | undefined
  const startedAt = clock()
  /** Loaded by the first proof: where none is sent, it costs nothing. */
  const dpop = lazily(async () => {
    const { createDpop } = await import('./dpop/dpop.ts')
    const { issuer, metrics } = options
    const { spentJwts } = stores
    openedDpop = createDpop({ ...options.dpop, startedAt, issuer, metrics, clock, audit, clients, spentJwts, onError })
    return openedDpop
  })
  const checkProof: CheckProof = async (use) => (await dpop()).checkProof(use)
  /** The keys of other issuers and of clients; loaded on first use. */
  const remoteKeys = lazily(async () => {
    const { createRemoteKeys } = await import('./remote-keys/remote-keys.ts')
    return createRemoteKeys({ clock, metrics: options.metrics, onFailure: options.onRemoteFailure })
  })
  const clientKeys = createClientKeys({ remoteKeys, allowPrivate: options.allowPrivateKeys })
  const assertions = lazily(async () => {
    const { createAssertions } = await import('./clients/assertion.ts')
    const { issuer, metrics, allowPrivateKeys: allowPrivate } = options
    return createAssertions({
      ...{ issuer, metrics, clock, clientKeys, allowPrivate },
      remoteKeys: await remoteKeys(),
      spentJwts: stores.spentJwts,
    })
  })
  const hashing = createHashing(options.metrics)
  const attempts = new Attempts(stores.throttles)
  const providers = createProviderDirectory({
    providers: stores.providers,
    bus,
    localSignIn: options.localSignIn,
    onError,
  })
  await providers.load()
  return {
    issuer: createIssuer({
      name: options.issuer,
      signer,
      apis,
      attributes,
      clock,
      lifetimes,
      sessionEnded: (sessionId) => revocationList.sessionEnded(sessionId),
    }),
    signer,
    apis,
    authenticate: access.authenticate,
    authenticateAny: access.authenticateAny,
    authenticateAgent: access.authenticateAgent,
    revocationList,
    revocations,
    clients,
    /** Undefined where no agents are served. */
    agents,
    dpop,
    checkProof,
    users,
    attributes,
    checkPassword: createPasswordCheck({
      users: stores.users,
      mayUsePassword: providers.maySignInLocally,
      throttles: stores.throttles,
      attempts,
      hashing,
      audit,
      clock,
      metrics: options.metrics,
    }),
    providers,
    hashing,
    attempts,
    remoteKeys,
    clientKeys,
    assertionFault: async (...call: Parameters<Awaited<ReturnType<typeof assertions>>>) =>
      (await assertions())(...call),
    secretThrottle: createSecretThrottle(clock),
    lifetimes,
    undelivered: createUndeliveredTokens({ clock, graceMs: () => lifetimes.graceMs, nodes: options.nodes }),
    pushed: options.pushed,
    /** For tokens that are issued from now on. */
    setLifetimes: (next: TokenLifetimes) => void Object.assign(lifetimes, next),
    close() {
      unsubscribe()
      apis.close()
      agents?.close()
      users.close()
      attributes.close()
      providers.close()
      revocationList.close()
      signer.close()
      openedDpop?.close().catch(onError)
    },
  }
}

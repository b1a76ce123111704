/** Client assertions (RFC 7523 §2.2): a client signs with its own key (private_key_jwt), or a workload presents a token of its issuer. */
import type { Clock } from 'gatehouse-protocol'
import type { SpentJwts } from '../../store/authorizations/spent-jwts.ts'
import type { Client, FederatedWorkload } from '../../store/clients/client-metadata.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { type FindKeys, JwtFault, verifyForeignJwt } from '../remote-keys/foreign-jwt.ts'
import { DocumentUnavailable } from '../remote-keys/remote-documents.ts'
import { MOST_PROVIDER_BYTES, metadataAddress, type RemoteKeys } from '../remote-keys/remote-keys.ts'
import { type Claims, parseJwt } from '../tokens/jwt.ts'
import { acceptedAlgs, type ClientKeys, inlineKeys } from './client-keys.ts'

export interface AssertionOptions {
  readonly issuer: string
  readonly clock: Clock
  readonly clientKeys: ClientKeys
  readonly remoteKeys: RemoteKeys
  readonly spentJwts: SpentJwts
  /** Allows keys at private and loopback addresses. */
  readonly allowPrivate: boolean
  readonly metrics: Pick<Metrics, 'count'>
}

const LONGEST_SECONDS = 3600
/** How far the clock of a client may be ahead of this server's. */
const AHEAD_SECONDS = 15
/** RFC 8725 §3.11: no other kind of JWT is an assertion. `client-authentication+jwt` is the name in the successor of RFC 7523. */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'client-authentication+jwt']
const REQUEST_CLAIMS = ['response_type', 'redirect_uri', 'code_challenge']

/** Returns a function that says what is wrong with the assertion of a client; undefined if nothing is. */
export function createAssertions(options: AssertionOptions) {
  const { issuer, clock, clientKeys, remoteKeys, spentJwts, allowPrivate, metrics } = options
  /** The issuer is best; libraries before RFC 7523bis name an endpoint. */
  const audiences = [issuer, `${issuer}/connect/token`, `${issuer}/connect/par`]

  return async (assertion: string, client: Client, namesClient: boolean): Promise<string | undefined> => {
    const claimed = parseJwt(assertion)?.claims
    const isOwn = claimed?.iss === client.id
    const method = isOwn ? 'private_key_jwt' : 'federated'
    const fault = await catchFault(() => (isOwn ? verifyOwn(assertion, client) : verifyWorkload(claimed)))
    metrics.count('gatehouse_client_assertions_total', {
      method,
      outcome: fault === undefined ? 'accepted' : 'refused',
    })
    return fault

    async function verifyWorkload(claims: Claims | undefined): Promise<void> {
      const workload = client.federated.find(({ issuer, subject }) => issuer === claims?.iss && subject === claims.sub)
      if (workload === undefined) throw new JwtFault('its iss and sub are those of no registered workload')
      // A token of the workload says nothing about the client, so the request must.
      if (!namesClient) throw new JwtFault('client_id is missing')
      await verifyForeign(assertion, workload)
    }
  }

  async function verifyOwn(assertion: string, client: Client): Promise<void> {
    if (!client.authMethods.has('private_key_jwt')) throw new JwtFault('method not registered')
    const keys = await clientKeys(client)
    const { header, claims } = await verifyForeignJwt(assertion, keys, acceptedAlgs(client.assertionAlg, client))
    checkType(header.typ)
    if (claims.sub !== client.id) throw new JwtFault('sub is not the client')
    // RFC 9101 §10.8: it went through a browser, so that others may hold it.
    if (REQUEST_CLAIMS.some((name) => Object.hasOwn(claims, name))) throw new JwtFault('it is a request object')
    const expiry = checkTimes(claims)
    // Some libraries, such as Authlib, sign for exactly an hour, by a clock that may be ahead.
    if (expiry > clock() / 1000 + LONGEST_SECONDS + AHEAD_SECONDS) throw new JwtFault('exp is more than an hour ahead')
    // FAPI 2.0 Security Profile §5.3.2.1: the issuer as a text.
    const isForUs = client.profile === 'fapi2' ? claims.aud === issuer : isAlone(claims.aud, audiences)
    if (!isForUs) throw new JwtFault('aud is not this server alone')
    if (typeof claims.jti !== 'string' || claims.jti === '') throw new JwtFault('jti is missing')
    // Last: an assertion that is refused for another reason can be sent again.
    if (!(await spentJwts.spend('client assertion', client.id, claims.jti, expiry * 1000)))
      throw new JwtFault('jti was used before')
  }

  /** Its jti is not spent: a workload reads its token from a file and uses it until it expires. */
  async function verifyForeign(assertion: string, workload: FederatedWorkload): Promise<void> {
    const { header, claims } = await verifyForeignJwt(assertion, await workloadKeys(workload))
    checkType(header.typ)
    const expiry = checkTimes(claims)
    if (typeof claims.iat !== 'number' || expiry - claims.iat > LONGEST_SECONDS)
      throw new JwtFault('it is valid for more than an hour')
    if (!isAlone(claims.aud, [issuer])) throw new JwtFault('aud is not this issuer alone')
  }

  async function workloadKeys({ issuer: name, jwks }: FederatedWorkload): Promise<FindKeys> {
    if (jwks !== undefined) return inlineKeys(jwks.keys)
    const options = { allowPrivate, mostBytes: MOST_PROVIDER_BYTES }
    const metadata = await remoteKeys.metadata(metadataAddress(name), options)
    if (metadata.issuer !== name) throw new JwtFault('the metadata of its issuer name another one')
    return remoteKeys.finder(metadata.jwksUri, options)
  }

  /** The time of expiry. */
  function checkTimes({ exp, iat, nbf }: Claims): number {
    const now = clock() / 1000
    if (typeof exp !== 'number') throw new JwtFault('exp is missing')
    if (exp <= now) throw new JwtFault('it has expired')
    for (const time of [iat, nbf]) {
      if (time !== undefined && typeof time !== 'number') throw new JwtFault('iat or nbf is not a number')
      if (time !== undefined && time > now + AHEAD_SECONDS) throw new JwtFault('iat or nbf is in the future')
    }
    return exp
  }
}

async function catchFault(verify: () => Promise<void>): Promise<string | undefined> {
  try {
    await verify()
    return undefined
  } catch (error) {
    if (error instanceof JwtFault) return error.message
    if (error instanceof DocumentUnavailable) return 'its keys could not be fetched'
    throw error
  }
}

function checkType(type: unknown): void {
  const name = typeof type === 'string' ? type.toLowerCase().replace(/^application\//, '') : type
  if (!TYPES.includes(name)) throw new JwtFault('typ is that of another kind of token')
}

/** A longer list would let another server that it names use the assertion here. */
function isAlone(audience: unknown, accepted: readonly string[]): boolean {
  const only: unknown = Array.isArray(audience) && audience.length === 1 ? audience[0] : audience
  return typeof only === 'string' && accepted.includes(only)
}

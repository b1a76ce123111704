/** The keys and the metadata of other issuers, and of clients that publish their keys: cached, fetched by their addresses. */
import type { Clock } from 'gatehouse-protocol'
import type { Resolve } from '../../http/outgoing/guarded-request.ts'
import { type ForeignKey, isObject, type Jwk, readKeySet } from '../../store/keys/foreign-keys.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { FindKeys } from './foreign-jwt.ts'
import { type FetchOptions, RemoteDocuments } from './remote-documents.ts'

export interface RemoteKeysOptions {
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'count'>
  /** A fetch failed. */
  readonly onFailure: (uri: string, reason: string) => void
  readonly resolve?: Resolve | undefined
}

/** The metadata of an issuer: OpenID Connect Discovery §3, RFC 8414 §2. */
export interface IssuerMetadata {
  readonly issuer: string
  readonly jwksUri: string
  /** The whole document, for what else a caller reads in it. */
  readonly document: Jwk
}

/** The most that is read of a document of a provider. */
export const MOST_PROVIDER_BYTES = 1024 * 1024

export type RemoteKeys = ReturnType<typeof createRemoteKeys>

export function createRemoteKeys({ clock, metrics, onFailure, resolve }: RemoteKeysOptions) {
  const counted = (document: 'jwks' | 'metadata') => (uri: string, fault: string | undefined) => {
    metrics.count('gatehouse_remote_documents_total', { document, outcome: fault === undefined ? 'fetched' : 'failed' })
    if (fault !== undefined) onFailure(uri, fault)
  }
  const sets = new RemoteDocuments<readonly ForeignKey[]>({
    clock,
    parse: readKeySet,
    onFetched: counted('jwks'),
    resolve,
  })
  const metadata = new RemoteDocuments<IssuerMetadata>({
    clock,
    parse: readMetadata,
    onFetched: counted('metadata'),
    resolve,
  })

  /** The keys of a set, of one key id or all; `isNewer`: fetched again, but at most once a minute. */
  async function find(
    uri: string,
    kid: string | undefined,
    options: FetchOptions,
    isNewer = false,
  ): Promise<readonly ForeignKey[]> {
    const keys = await (isNewer ? sets.getNewer(uri, options) : sets.get(uri, options))
    return kid === undefined ? keys : keys.filter((key) => key.kid === kid)
  }

  return {
    /** Rejects with DocumentUnavailable, as all of these do. An unknown key id has the set fetched again, at most once a minute. */
    async find(uri: string, kid: string | undefined, options: FetchOptions): Promise<readonly ForeignKey[]> {
      const found = await find(uri, kid, options)
      return found.length > 0 ? found : find(uri, kid, options, true)
    },
    /** For `verifyForeignJwt`. */
    finder:
      (uri: string, options: FetchOptions): FindKeys =>
      (kid, isNewer) =>
        find(uri, kid, options, isNewer),
    /** The caller compares `issuer` with the one it expects (OpenID Connect Discovery §4.3): see `metadataAddress`. */
    metadata: (uri: string, options: FetchOptions): Promise<IssuerMetadata> => metadata.get(uri, options),
  }
}

/** OpenID Connect Discovery §4: below the issuer, without a slash at its end. */
export function metadataAddress(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

function readMetadata(value: unknown): IssuerMetadata {
  if (!isObject(value)) throw new Error('The metadata are not a JSON object')
  const { issuer, jwks_uri: jwksUri } = value
  if (typeof issuer !== 'string') throw new Error('The metadata have no issuer')
  if (typeof jwksUri !== 'string' || !URL.canParse(jwksUri)) throw new Error('The metadata have no jwks_uri')
  return { issuer, jwksUri, document: value }
}

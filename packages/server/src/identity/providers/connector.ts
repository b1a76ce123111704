/**
 * What a connector does: people prove to another server who they are, and sign out there. The rest of this folder decides what a proof
 * means here, and is the same for every kind.
 */
import type { Clock } from 'gatehouse-protocol'
import type { Context } from '../../http/context.ts'
import type { Resolve } from '../../http/outgoing/guarded-request.ts'
import type { FormParameters } from '../../http/request/body.ts'
import type { RouteGroup } from '../../http/route.ts'
import type { StoredProvider } from '../../store/providers/providers.ts'
import type { RemoteKeys } from '../remote-keys/remote-keys.ts'
import type { Claims } from '../tokens/jwt.ts'

/** A kind of provider, as a line of connectors.ts. */
export interface ConnectorKind<Provider> {
  open(provider: Provider, env: ConnectorEnv): Connector
  /** Reads what a sign-in reads before the person is asked. Rejects with the reason why the provider cannot be used. */
  check(provider: Provider, env: Pick<ConnectorEnv, 'remoteKeys'>): Promise<void>
  /** What an operator should look at where the check fails. */
  advice(provider: Provider): string
  /** Endpoints of its own below `/external/{id}/`. */
  routes(federation: Federation, env: ConnectorEnv): readonly RouteGroup[]
}

export interface Connector {
  /** Where the person signs in. The browser comes back to `/external/{id}/callback` with `state`. */
  signInUrl(request: SignInRequest): Promise<string>
  /** Throws a fault of the provider (faults.ts). */
  prove(answer: FormParameters, expected: ExpectedAnswer): Promise<ProvenIdentity>
  /**
   * Where the person signs out, from `signOut` of the proof. The browser comes back to `/external/{id}/signed-out` with `state`. Sends
   * no request to the provider.
   */
  signOutUrl(signOut: string, state: string): string
}

export interface ConnectorEnv {
  readonly issuer: { readonly name: string }
  readonly clock: Clock
  /** Seals secrets at rest, and derives what a sign-in must remember. */
  readonly providerKey: Buffer
  readonly remoteKeys: () => Promise<RemoteKeys>
  /** Resolves host names; the system's resolver where absent. */
  readonly resolve?: Resolve | undefined
}

export interface SignInRequest {
  /** Works once, for the browser that is sent. */
  readonly state: string
  /** The person must authenticate again. */
  readonly again: boolean
  /** Seconds. */
  readonly maxAge: number | undefined
  readonly loginHint: string | undefined
  readonly uiLocales: string | undefined
}

export interface ExpectedAnswer extends Pick<SignInRequest, 'maxAge'> {
  /** That of the request. It has been checked, and is spent. */
  readonly state: string
  /** The claims that the definition reads. */
  readonly claims: readonly string[]
}

/** Who authenticated at a provider. */
export interface ProvenIdentity {
  /** With the subject, the identity. No two providers have the same one. */
  readonly issuer: string
  readonly subject: string
  /** The session there, if the provider names it. */
  readonly sid: string | undefined
  /** When the person authenticated, in milliseconds. */
  readonly authTime: number | undefined
  /** Whether they proved two factors that the definition trusts. */
  readonly isMultiFactor: boolean
  /** What the provider says of the person; a profile under the names of OpenID Connect Core §5.1, as users have it here. */
  readonly claims: Claims
  /** Claims that the person has and the provider did not send. */
  readonly leftOut: ReadonlySet<string>
  /** What a sign-out there needs; undefined if there is none. */
  readonly signOut: string | undefined
}

export interface Proof extends ProvenIdentity {
  readonly provider: StoredProvider
}

/** What the endpoints of a connector use. */
export interface Federation {
  /** May be disabled, or of another kind. */
  find(id: string): StoredProvider | undefined
  /** The person has signed out there. */
  endSessions(http: Context, provider: StoredProvider, notice: ProviderLogout): Promise<void>
}

/** Whose sessions end. */
export interface ProviderLogout {
  readonly issuer: string
  readonly sid: string | undefined
  /** Undefined where the `sid` alone counts. */
  readonly subject: string | undefined
  /** Of the notice, which works once, and how long it could be sent again. */
  readonly jti: string
  readonly keptMs: number
}

/** The address of one of our endpoints for a provider. */
export function externalUrl(
  { id }: { readonly id: string },
  endpoint: string,
  { issuer }: Pick<ConnectorEnv, 'issuer'>,
): string {
  return `${issuer.name}/external/${encodeURIComponent(id)}/${endpoint}`
}

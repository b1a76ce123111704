/** The kinds of applications: how each is registered, and how it is recognised. */
import type { AdminClient } from '../../../../client/src/index.ts'
import type { Values } from '../../admin/attributes.tsx'
import type { IconName } from '../../ui/index.ts'
import { word } from '../../ui/word.ts'

export interface Application extends AdminClient {
  readonly built_in?: boolean
  readonly disabled?: boolean
  readonly application_type?: 'web' | 'native'
  readonly token_endpoint_auth_method?: string
  readonly post_logout_redirect_uris?: readonly string[]
  readonly response_types?: readonly string[]
  readonly skip_consent?: boolean
  readonly jwks?: { readonly keys: readonly object[] }
  readonly jwks_uri?: string
  readonly federated?: readonly Workload[]
  readonly api?: string
  readonly exchange_scope?: string
  readonly agent?: boolean
  /** It comes from the document at its client id. */
  readonly document?: boolean
  readonly attributes?: Values
  readonly secrets: readonly Secret[]
}

/** Whose tokens authenticate the application. */
export interface Workload {
  readonly issuer: string
  readonly subject: string
}

export interface Secret {
  readonly id: string
  readonly declared: boolean
  readonly created_at: string
  readonly expires_at: string | null
}

export type Kind = 'spa' | 'server' | 'native' | 'device' | 'service' | 'agent'

export interface KindInfo {
  readonly kind: Kind
  readonly title: string
  readonly about: string
  readonly icon: IconName
  /** Whether people are redirected to the server and back. */
  readonly redirects: boolean
  /** Whether it can keep a secret. */
  readonly confidential: boolean
  /** Whether its requests come from pages on its own origin. */
  readonly origins: boolean
  /** What a redirect URI looks like, and why. */
  readonly redirectHint: string
}

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'

export const KINDS: readonly KindInfo[] = [
  {
    kind: 'spa',
    title: 'Single-page app',
    about: 'Runs in the browser, such as React, Vue or plain JavaScript. No secret; PKCE protects the sign-in.',
    icon: 'application',
    redirects: true,
    confidential: false,
    origins: true,
    redirectHint: 'The page that people return to, such as https://app.example.com/ or http://localhost:5173/.',
  },
  {
    kind: 'server',
    title: 'Web server',
    about: 'Pages that a server renders, such as Express, Django or Rails. It keeps a secret and the tokens.',
    icon: 'operations',
    redirects: true,
    confidential: true,
    origins: false,
    redirectHint: 'The address of the callback on your server, such as https://app.example.com/callback.',
  },
  {
    kind: 'native',
    title: 'Native app',
    about: 'Installed on a computer or phone. It opens the system browser for sign-in.',
    icon: 'system',
    redirects: true,
    confidential: false,
    origins: false,
    redirectHint: word(
      'http://127.0.0.1/callback (the app can listen on any port), your own scheme with a dot such as com.example.app:/callback, or an https address that opens the app.',
    ),
  },
  {
    kind: 'device',
    title: 'Device or terminal',
    about: 'For devices without a browser: people confirm a code on another device.',
    icon: 'code',
    redirects: false,
    confidential: false,
    origins: false,
    redirectHint: '',
  },
  {
    kind: 'service',
    title: 'Service',
    about: 'A program that acts for itself, without people: a worker, a job, another server.',
    icon: 'bolt',
    redirects: false,
    confidential: true,
    origins: false,
    redirectHint: '',
  },
  {
    kind: 'agent',
    title: 'Agent',
    about: 'An assistant that reads for people through the Model Context Protocol. They choose what it may read.',
    icon: 'query',
    redirects: true,
    confidential: false,
    origins: false,
    redirectHint: word(
      'Where the assistant takes the answer, such as https://assistant.example.com/callback, or http://127.0.0.1/callback on any port.',
    ),
  },
]

export function kindInfo(kind: Kind): KindInfo {
  return KINDS.find((info) => info.kind === kind) ?? (KINDS[0] as KindInfo)
}

export function hasSecret({ token_endpoint_auth_method: method }: Application): boolean {
  return method !== 'none' && method !== 'private_key_jwt'
}

export function clientKind(client: Application): Kind {
  const { grant_types: grants = ['authorization_code'], token_endpoint_auth_method: method } = client
  if (client.agent === true) return 'agent'
  if (grants.includes('authorization_code')) {
    if (client.application_type === 'native') return 'native'
    return method === 'none' ? 'spa' : 'server'
  }
  if (grants.includes(DEVICE_GRANT)) return 'device'
  return method === 'none' ? 'native' : 'service'
}

/** What a person chooses for a new application. */
export interface Draft {
  readonly name: string
  readonly id: string
  readonly redirectUris: readonly string[]
  readonly signedOutUris: readonly string[]
  readonly origins: readonly string[]
  readonly scopes: readonly string[]
  readonly offline: boolean
  /** An application of the organisation itself, for which nobody is asked for consent. */
  readonly isOurs: boolean
}

/** The registration of an application of this kind. */
export function buildMetadata(kind: Kind, draft: Draft): Partial<Application> {
  const { redirects, confidential, origins } = kindInfo(kind)
  const offline = (draft.offline && kind !== 'service') || kind === 'agent'
  const own = kind === 'device' ? DEVICE_GRANT : kind === 'service' ? 'client_credentials' : 'authorization_code'
  const isRight = (scope: string) => scope.includes('/')
  const scopes = [
    ...(kind === 'service' || kind === 'agent' ? [] : ['openid', ...draft.scopes.filter((scope) => !isRight(scope))]),
    ...draft.scopes.filter(isRight),
    ...(offline ? ['offline_access'] : []),
  ]
  return {
    client_id: draft.id.trim(),
    client_name: draft.name.trim(),
    ...(confidential ? {} : { token_endpoint_auth_method: 'none' }),
    ...(kind === 'native' || kind === 'agent' ? { application_type: 'native' as const } : {}),
    ...(kind === 'agent' ? { agent: true } : {}),
    grant_types: [own, ...(offline ? ['refresh_token'] : [])],
    response_types: redirects ? ['code'] : [],
    ...(redirects ? { redirect_uris: filled(draft.redirectUris), require_pkce: true } : {}),
    ...(redirects && filled(draft.signedOutUris).length > 0
      ? { post_logout_redirect_uris: filled(draft.signedOutUris) }
      : {}),
    ...(origins && filled(draft.origins).length > 0 ? { allowed_origins: filled(draft.origins) } : {}),
    scope: [...new Set(scopes)].join(' '),
    ...(draft.isOurs && kind !== 'service' && kind !== 'agent' ? { skip_consent: true } : {}),
  }
}

export function filled(texts: readonly string[]): string[] {
  return texts.map((text) => text.trim()).filter((text) => text !== '')
}

/** An id that can be read, from the name. */
export function suggestId(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64)
}

/** The metadata of the identity server (OpenID Connect Discovery §4, RFC 8414): checked before anything is sent to it. */
import { AuthError, asObject, ConnectionError, readError } from './errors.ts'

/** The endpoints that this library uses, as the metadata names them. */
export type EndpointName =
  | 'authorization'
  | 'token'
  | 'device_authorization'
  | 'revocation'
  | 'end_session'
  | 'userinfo'

export type Fetch = (url: string, init?: RequestInit) => Promise<Response>

/**
 * RFC 8414 §3.3: the document must be that of the issuer, else its endpoints could receive what is meant for another
 * server. Throws before that can happen.
 */
export async function discover(issuer: string, fetch: Fetch): Promise<Readonly<Record<string, unknown>>> {
  const url = `${issuer}/.well-known/openid-configuration`
  const document = await getJson(fetch, url)
  if (document.issuer !== issuer)
    throw new AuthError(
      typeof document.issuer === 'string'
        ? `The issuer of ${issuer} is ${document.issuer}: use that, if you trust it`
        : `${issuer} is not an issuer`,
      { code: 'client.issuer' },
    )
  return document
}

/** The object that the address answers with; of anything else, no members. */
export async function getJson(
  fetch: Fetch,
  url: string,
  init: RequestInit = {},
): Promise<Readonly<Record<string, unknown>>> {
  const response = await reach(fetch, url, init)
  if (!response.ok) throw await readError(response)
  return asObject(await response.json().catch(() => undefined))
}

/**
 * `fetch` whose network errors are ConnectionErrors, while an abort stays what it is. A redirect is an error: it would carry a
 * password or a token elsewhere.
 */
export async function reach(fetch: Fetch, url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { redirect: 'error', ...init })
  } catch (error) {
    init.signal?.throwIfAborted()
    throw new ConnectionError(`${new URL(url).origin} cannot be reached${describeCause(error)}`, { cause: error })
  }
}

/** Node says in `cause` what went wrong; browsers do not say it. */
function describeCause(error: unknown): string {
  const { message, code } = asObject(asObject(error).cause)
  // Without a message where several addresses were tried.
  const reason = message || code
  return reason ? ` (${reason})` : ''
}

/** A running server with an administrator, providers that a test declares, and a browser that goes to them and back. */
import assert from 'node:assert/strict'
import { hashPassword } from '../../../packages/server/src/store/accounts/password-hash.ts'
import type { TestPlace } from '../engines.ts'
import {
  authorizeUrl,
  type Changes,
  openSignInPlace,
  type SignInPlace,
  type SignInPlaceOptions,
} from '../sign-in-place.ts'
import type { Departure, Page, UserAgent } from '../user-agent.ts'
import type { StubProvider } from './stub-provider.ts'

export const OLIVIA = { username: 'olivia', password: 'the password of an operator' } as const
/** A client of the place without consent. */
export const TRUSTED = {
  client_id: 'trusted',
  redirect_uri: 'https://trusted.example.com/cb',
  response_type: 'id_token',
}

export interface ProviderPlace extends SignInPlace {
  /** Calls the administration as olivia. */
  admin(method: string, path: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }>
  declare(stub: StubProvider, members?: Readonly<Record<string, unknown>>): Promise<void>
  /** Goes to the provider with the button of the sign-in page, and returns what the callback leads to. */
  signIn(agent: UserAgent, stub: StubProvider, changes?: Changes): Promise<Page | Departure>
  /** Where the sign-in page leads: the authorization request at the provider. */
  start(agent: UserAgent, changes?: Changes, id?: string): Promise<URL>
}

export async function openProviderPlace(at: TestPlace, options: SignInPlaceOptions = {}): Promise<ProviderPlace> {
  const place = await openSignInPlace(at, options)
  const { stores, server } = place
  await stores.roles.put({ name: 'operator', scopes: ['Identity/Admin'] })
  await stores.users.create({
    username: OLIVIA.username,
    passwordHash: await hashPassword(OLIVIA.password),
    roles: ['operator'],
  })
  await stores.clients.put({
    client_id: 'admin',
    token_endpoint_auth_method: 'none',
    grant_types: ['password'],
    scope: 'Identity/Admin',
    access_token_lifetime: 86_400,
  })
  let token: string | undefined
  const admin: ProviderPlace['admin'] = async (method, path, body) => {
    token ??= await operatorToken(server.issuer)
    const response = await fetch(server.issuer + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'if-match': '*',
        ...(body === undefined
          ? {}
          : { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text) }
  }
  const start: ProviderPlace['start'] = async (agent, changes = {}, id = 'corp') => {
    const page = await agent.get(authorizeUrl(server.issuer, { ...TRUSTED, ...changes }))
    if (page.kind === 'left') return page.url
    const link = new RegExp(`href="([^"]*/external/${id}/start[^"]*)"`).exec(page.body)?.[1]?.replaceAll('&amp;', '&')
    assert.ok(link, `no button of ${id} at ${page.url.href}: ${page.body}`)
    const left = await agent.get(link)
    assert.equal(left.kind, 'left', left.kind === 'page' ? left.body : '')
    return left.url
  }
  return {
    ...place,
    admin,
    start,
    async declare(stub, members = {}) {
      const id = String(members.id ?? 'corp')
      await admin('DELETE', `/admin/providers/${id}`)
      const declared = {
        id,
        name: 'Corp',
        issuer: stub.issuer,
        client_id: stub.clientId,
        ...('auth_method' in members ? {} : { client_secret: stub.secret }),
        private: true,
        ...members,
      }
      const { status, body } = await admin('POST', '/admin/providers', declared)
      assert.equal(status, 201, JSON.stringify(body))
    },
    async signIn(agent, stub, changes) {
      return agent.get(stub.answer(await start(agent, changes)))
    },
  }
}

async function operatorToken(issuer: string): Promise<string> {
  const response = await fetch(`${issuer}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', client_id: 'admin', ...OLIVIA }),
  })
  const body = await response.json()
  assert.equal(response.status, 200, JSON.stringify(body))
  return String(Object(body).access_token)
}

/** The code that an error page shows. */
export function readCode(page: Page | Departure): string | undefined {
  return page.kind === 'left' ? undefined : /id="error">([^<]+)</.exec(page.body)?.[1]
}

/** Takes up a set-up link with the provider "corp", as its page offers: the authorization request there, or the page of a fault. */
export async function takeUp(agent: UserAgent, link: string): Promise<Page | Departure> {
  const page = await agent.get(link)
  const forms = page.kind === 'left' ? [] : page.forms
  const form = forms.find(({ action }) => action.pathname === '/external/corp/invitation')
  assert.ok(form, 'The page has no form for the provider')
  const leaving = await agent.submit(form)
  if (leaving.kind === 'left') return leaving
  const url = /id="leave" href="([^"]+)"/.exec(leaving.body)?.[1]?.replaceAll('&amp;', '&')
  return url === undefined ? leaving : { kind: 'left', method: 'GET', url: new URL(url), form: [], page: leaving }
}

/** The one client of the gate, and the user who is signed in. */
import { computed, signal } from '@preact/signals'
import { createKey, dpop } from '../../client/src/dpop.ts'
import {
  type Auth,
  AuthError,
  type Browser,
  browser,
  Gatehouse,
  memory,
  type StepUpNeeded,
  type User,
} from '../../client/src/index.ts'
import { server } from './server.ts'

/** What the page knows about its user. */
export type Session =
  | { readonly kind: 'starting' }
  | { readonly kind: 'signed-in'; readonly user: User; readonly rights: ReadonlySet<string> }
  /** `left`: by the user, here. `ended`: elsewhere, by an administrator, or by time. */
  | { readonly kind: 'signed-out'; readonly cause: 'left' | 'ended' }
  | { readonly kind: 'failed'; readonly error: unknown }

/** The state of the connection, as the navigation shows it. */
export interface Connection {
  readonly state: 'connecting' | 'online' | 'lapsed' | 'offline' | 'ended'
  readonly reason: string
  /** When the next attempt is made: milliseconds since the epoch. */
  readonly retryAt: number | undefined
}

export const session = signal<Session>({ kind: 'starting' })
export const connection = signal<Connection>({ state: 'connecting', reason: '', retryAt: undefined })

/** The user who is signed in, if any. */
export const user = computed(() => (session.value.kind === 'signed-in' ? session.value.user : undefined))
const NO_RIGHTS: ReadonlySet<string> = new Set()
/** The scopes of the token. */
export const rights = computed(() => (session.value.kind === 'signed-in' ? session.value.rights : NO_RIGHTS))

/** The names of the user's roles; a server may send them as `roles` or `role`, one or several. */
export const userRoles = computed(() =>
  [user.value?.roles ?? user.value?.role].flat().filter((role) => typeof role === 'string'),
)

/** Whether the token allows one of these; a right that ends with `/` stands for all below it. */
export function may(...wanted: readonly string[]): boolean {
  const held = [...rights.value]
  return wanted.some((right) =>
    right.endsWith('/') ? held.some((has) => has.startsWith(right)) : held.includes(right),
  )
}

/** All that exist: the server leaves out what the user does not hold. */
const SCOPE = [
  ...['openid', 'profile', 'email', 'roles', 'Identity/Admin'],
  ...['Platform/Market', 'Platform/News', 'Platform/Trading', 'Platform/OrderPad', 'Platform/Admin'],
].join(' ')

/** What the user is asked to do before a request is repeated; undefined if nothing. */
export const askedToStepUp = signal<StepUp | undefined>(undefined)

export interface StepUp extends Pick<StepUpNeeded, 'acrValues' | 'maxAge'> {
  readonly answer: (hasSignedIn: boolean) => void
}

function askToStepUp({ acrValues, maxAge }: StepUpNeeded): Promise<void> {
  return new Promise((resolve, reject) => {
    askedToStepUp.value = {
      acrValues,
      maxAge,
      answer(hasSignedIn) {
        askedToStepUp.value = undefined
        if (hasSignedIn) resolve()
        else reject(new Error('The user did not sign in again'))
      },
    }
  })
}

/** Keeps tokens in this page only. After a reload, the session at the server gives another one. */
const signIn = browser({
  clientId: 'gatehouse-console',
  scope: SCOPE,
  redirectUri: `${server.issuer}/console`,
  postLogoutRedirectUri: `${server.issuer}/console/signed-out`,
  storage: memory(),
  silent: true,
  stepUp: askToStepUp,
})

/** A stolen token is of no use elsewhere: the key is made for this page, and no script can read it. */
const bound = dpop(signIn, { key: createKey, nonce: server.nonce })

/** Ends the session of the page when any request for a token fails because the user is signed out. */
const auth: Auth<Browser> = (env) => {
  const source = bound(env)
  const token = source.token.bind(source)
  source.token = (refused, reason) =>
    token(refused, reason).catch((error) => {
      if (isSignedOut(error)) end()
      throw error
    })
  return source
}

export const gate = new Gatehouse(server.issuer, { auth })

/** Signs in; leaves the page if the user has to sign in first. `onReturn` is called before anything is shown. */
export async function open(onReturn: () => void): Promise<void> {
  try {
    if (!(await gate.auth.signedIn())) return await askToSignIn()
    onReturn()
    await readUser()
  } catch (error) {
    session.value = { kind: 'failed', error }
    return
  }
  gate.on('state', ({ state, reason, retryIn }) => {
    connection.value = { state, reason, retryAt: retryIn === undefined ? undefined : Date.now() + retryIn }
    // Perhaps only the connection was closed. A request for a token shows whether the session still exists.
    if (state === 'ended') gate.auth.token().catch(() => {})
  })
  connect()
}

/** Follows the rights of the user on the stream, if it runs and takes the token; otherwise asks the server at intervals. */
export function connect(): void {
  if (server.services.includes('streaming') && may('Platform/')) void followRights().catch(() => {})
  else void askAgain()
}

const ASK_EVERY_MS = 20_000

async function askAgain(): Promise<void> {
  const retryAt = Date.now() + ASK_EVERY_MS
  try {
    const token = await gate.auth.token()
    await readUser().catch((error) => {
      if (error instanceof AuthError && error.status === 401) return gate.auth.token(token)
      throw error
    })
    connection.value = { state: 'online', reason: 'without a stream', retryAt }
  } catch (error) {
    connection.value = { state: 'offline', reason: error instanceof Error ? error.message : '', retryAt }
  }
  if (session.value.kind === 'signed-in') setTimeout(askAgain, ASK_EVERY_MS)
}

/** The server sends a message when the rights of this token change; the next token has the remaining rights. */
async function followRights(): Promise<void> {
  let known: { readonly token: string; readonly scope: string } | undefined
  for await (const authority of gate.stream.subscribe<Authority>('Auth', 'Identify', { slow: 'latest' })) {
    // Without a valid token there are no rights to compare; the connection fetches another one itself.
    if (authority.Result !== 'Success') continue
    const [token, scope] = [await gate.auth.token(), JSON.stringify(authority.Scope)]
    if (known?.token === token && known.scope !== scope) await gate.auth.token(token)
    known = { token: await gate.auth.token(), scope }
    await readUser()
  }
}

interface Authority {
  readonly Result?: string
  readonly Scope?: readonly string[]
}

/** Leaves the page; the user returns to the same address. */
export function askToSignIn(): Promise<void> {
  const { pathname, search } = location
  const returnTo = new URL(`${server.base}/console`, location.origin)
  if (!pathname.endsWith('/console/signed-out')) returnTo.searchParams.set('to', pathname + search)
  return gate.auth.signIn({ returnTo: returnTo.href })
}

/** Removes everything that is shown at once, before the server answers. */
/** What is done before the user leaves, with the rights that the page still has. */
export const leaving: (() => Promise<unknown>)[] = []

export async function signOut(): Promise<void> {
  await Promise.allSettled(leaving.map((leave) => leave()))
  session.value = { kind: 'signed-out', cause: 'left' }
  gate.stream.close()
  await gate.auth.signOut().catch(() => {})
}

async function readUser(): Promise<void> {
  const found = await gate.auth.user()
  const scopes = await gate.auth.scopes()
  // The user may have signed out in the meantime. If the rights are the same, nothing is redrawn.
  if (found === undefined || session.value.kind === 'signed-out') return
  const known = session.value.kind === 'signed-in' ? [session.value.user, [...session.value.rights]] : undefined
  if (JSON.stringify(known) === JSON.stringify([found, scopes])) return
  session.value = { kind: 'signed-in', user: found, rights: new Set(scopes) }
}

function isSignedOut(error: unknown): boolean {
  return error instanceof AuthError && error.code === 'login_required'
}

function end(): void {
  if (session.value.kind !== 'signed-in') return
  session.value = { kind: 'signed-out', cause: 'ended' }
  gate.stream.close()
}
